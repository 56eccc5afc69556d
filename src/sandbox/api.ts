/** The API process of the sandbox: the one of production, with the faucet. */
import { runApi } from '../compose/run-api.ts'
import { addFaucet } from './faucet/add-faucet.ts'

await runApi(process.env, addFaucet)
