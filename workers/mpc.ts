/** The operator command for mpc: `npm run mpc -- certificate`. */
import { composeIdentityOf } from '../src/compose/mpc-identity.ts'
import { mpcCommand } from '../src/mpc-wallets/mpc-command.ts'

process.exitCode = await mpcCommand(process.argv.slice(2), {
  identityOf: composeIdentityOf(process.env),
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
})
