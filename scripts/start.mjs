// `npm start`: the sandbox without DATABASE_URL, only the API with it. The image does not use this file: each process
// is started there from dist/ with its own command.

import { runBuilt } from './run.mjs'

const { DATABASE_URL, DATABASE_URL_FILE } = process.env
await runBuilt(DATABASE_URL || DATABASE_URL_FILE ? 'api' : 'sandbox', process.argv.slice(2))
