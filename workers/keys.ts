/** The operator command for API keys: `npm run keys -- issue --tenant acme --environment mainnet`. */
import { createApiKeyRows } from '../src/access/api-key-rows.ts'
import { createIssueApiKey } from '../src/access/issue-api-key.ts'
import { keysCommand } from '../src/access/keys-command.ts'
import { createRevokeApiKey } from '../src/access/revoke-api-key.ts'
import { runCommand } from '../src/compose/run-command.ts'

await runCommand(process.env, ({ log, newId, pool, clock }) =>
  keysCommand(process.argv.slice(2), {
    issueApiKey: createIssueApiKey({ log, newId }),
    revokeApiKey: createRevokeApiKey({ log }),
    keys: createApiKeyRows(pool),
    clock,
    out: (text) => process.stdout.write(text),
    err: (text) => process.stderr.write(text),
  }),
)
