/** The operator command for API keys: `npm run keys -- issue --tenant acme --environment mainnet`. */
import { createApiKeyRows } from '../src/access/api-key-rows.ts'
import { createIssueApiKey } from '../src/access/issue-api-key.ts'
import { keysProgram } from '../src/access/keys-program.ts'
import { revokeApiKey } from '../src/access/revoke-api-key.ts'
import { runProgram } from '../src/cli/run-cli.ts'
import { withKernel } from '../src/compose/run-command.ts'

const program = keysProgram((task) =>
  withKernel(process.env, ({ log, newId, pool, clock }) =>
    task({
      issueApiKey: createIssueApiKey({ log, newId }),
      revokeApiKey: (...of) => revokeApiKey({ log }, ...of),
      keys: createApiKeyRows(pool),
      clock,
    }),
  ),
)

await runProgram(program, process)
