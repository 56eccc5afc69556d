/** The API process. */
import { runApi } from './compose/run-api.ts'

await runApi(process.env)
