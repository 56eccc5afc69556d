/** The operator command for API keys: `npm run keys -- issue --tenant acme --environment mainnet`. */

import { createApiKeyRows } from '../src/access/api-key-rows.ts'
import { createIssueApiKey } from '../src/access/issue-api-key.ts'
import { keysProgram } from '../src/access/keys-program.ts'
import { revokeApiKey } from '../src/access/revoke-api-key.ts'
import { runProgram } from '../src/cli/run-cli.ts'
import { withKernel } from '../src/compose/run-command.ts'
import { CATALOGUE } from '../src/declarations.ts'

const program = keysProgram(
  (task) =>
    withKernel(process.env, (kernel) =>
      task({
        issueApiKey: createIssueApiKey(kernel),
        revokeApiKey: (...of) => revokeApiKey(kernel, ...of),
        keys: createApiKeyRows(kernel.pool),
        clock: kernel.clock,
      }),
    ),
  CATALOGUE.scopes,
)

await runProgram(program, process)
