// `npm start`: the sandbox when no DATABASE_URL names a database, the API alone when one does. The image does not use
// this file: there each process is started from dist/ by its own command.

import { runBuilt } from './run.mjs'

const { DATABASE_URL, DATABASE_URL_FILE } = process.env
await runBuilt(DATABASE_URL || DATABASE_URL_FILE ? 'api' : 'sandbox', process.argv.slice(2))
