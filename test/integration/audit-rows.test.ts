/** What `audit verify` reports about read models: rows that contradict an intact log. */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { createIssueApiKey } from '../../src/access/issue-api-key.ts'
import { openAuditKey, PUBLIC_SUFFIX } from '../../src/audit/checkpoints/audit-key.ts'
import { verifyCommand } from '../../src/audit/commands/verify-command.ts'
import { ALL_AGGREGATES, CAPABILITIES } from '../../src/compose/capabilities.ts'
import { newId } from '../../src/compose/new-id.ts'
import { CATALOGUE } from '../../src/declarations.ts'
import { runCommandLine } from '../support/cli.ts'
import { ACME, makeWallet, withWallets } from '../support/wallet-parts.ts'

t.test(
  'a row that decides about money and differs from the log is named, and so is one without a stream',
  async (t) => {
    const parts = await withWallets(t)
    const directory = await mkdtemp(join(tmpdir(), 'bursar-audit-'))
    t.after(() => rm(directory, { recursive: true, force: true }))
    const keyFile = join(directory, 'audit.key')
    await openAuditKey({ keyFile, origin: 'example.com/test' }, async () => false)
    const { pool, url, log } = parts
    const mine = await makeWallet(parts)
    const theirs = await makeWallet(parts, {}, { tenantId: 'globex', actor: 'test' })
    const { keyId } = await createIssueApiKey({ log, newId, catalogue: CATALOGUE })(
      { tenantId: 'acme', environment: 'mainnet' },
      ACME,
    )
    const command = verifyCommand((task) =>
      task({
        databaseUrl: url,
        publicKeyFile: `${keyFile}${PUBLIC_SUFFIX}`,
        checkpointFile: join(directory, 'checkpoints'),
        chains: [],
        models: CAPABILITIES.flatMap(({ verified = [] }) => verified),
        aggregates: ALL_AGGREGATES,
      }),
    )
    const run = (options = '') => runCommandLine([command], `audit verify ${options}`)
    t.match(await run('--json'), { code: 0, out: /"rows": ?3\b/ })
    const tampering: readonly (readonly [statement: string, undo: string, told: RegExp])[] = [
      [
        `UPDATE wallets SET key_ref = (SELECT key_ref FROM wallets WHERE wallet_id = '${theirs}') WHERE wallet_id = '${mine}'`,
        `UPDATE wallets SET key_ref = jsonb_set(key_ref, '{tenantId}', '"acme"') WHERE wallet_id = '${mine}'`,
        new RegExp(`^wallets ${mine} differs from the log: key_ref is .*"globex".* but should be .*"acme".*\\n$`),
      ],
      [
        `UPDATE wallets SET address = '0x000000000000000000000000000000000000dEaD', tenant_id = 'evil' WHERE wallet_id = '${mine}'`,
        `UPDATE wallets SET address = (SELECT data->>'address' FROM events WHERE stream_id = 'wallet-${mine}' AND type = 'WalletCreated'),
        tenant_id = 'acme' WHERE wallet_id = '${mine}'`,
        /address is "0x0+dEaD" but should be "0x.*tenant_id is "evil"|tenant_id is "evil".*address is "0x0+dEaD"/,
      ],
      [
        `UPDATE api_keys SET scopes = scopes || ARRAY['recovery:export'] WHERE key_id = '${keyId}'`,
        `UPDATE api_keys SET scopes = array_remove(scopes, 'recovery:export') WHERE key_id = '${keyId}'`,
        new RegExp(`^api_keys ${keyId} differs from the log: scopes is`),
      ],
      [
        `UPDATE api_keys SET digest = '${'0'.repeat(64)}' WHERE key_id = '${keyId}'`,
        `UPDATE api_keys SET digest = (SELECT data->>'digest' FROM events WHERE stream_id = 'apikey-${keyId}') WHERE key_id = '${keyId}'`,
        new RegExp(`^api_keys ${keyId} differs from the log: digest is`),
      ],
      [
        `INSERT INTO mpc_keys SELECT 'mpk_x', NULL, NULL, '0x', '0x', 2, 3, 0, NULL, '[]', NULL, now(), NULL, 1`,
        `DELETE FROM mpc_keys WHERE key_id = 'mpk_x'`,
        /^mpc_keys mpk_x has no events in the log: it was inserted directly into the database\.\n$/,
      ],
      [
        `CREATE TABLE kept AS SELECT * FROM wallets WHERE wallet_id = '${theirs}'; DELETE FROM wallets WHERE wallet_id = '${theirs}'`,
        'INSERT INTO wallets SELECT * FROM kept',
        new RegExp(`^wallets ${theirs} is missing, but the log has its events\\.\\n$`),
      ],
    ]
    for (const [statement, undo, told] of tampering) {
      await pool.query(statement)
      const { code, out } = await run()
      t.equal(code, 1, statement)
      t.match(out, told)
      t.match(JSON.parse((await run('--json')).out), { ok: false, finding: { kind: 'row_differs' } })
      await pool.query(undo)
      t.equal((await run()).code, 0, undo)
    }
  },
)
