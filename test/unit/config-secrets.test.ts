/** Settings that hold secrets: where they are read from, and that nothing shows them. */
import { join } from 'node:path'
import t from 'tap'
import { loadConfig } from '../../src/compose/load-config.ts'
import { KEY, PRODUCTION, problemsOf } from '../support/config.ts'
import { matchExactly } from '../support/match-exactly.ts'

t.test('outside the sandbox exports go only to recipients in EXPORT_RECIPIENTS', async (t) => {
  const RECIPIENT = 'age1lvyvwawkr0mcnnnncaghunadrqkmuf9e6507x9y920xxpp866cnql7dp2z'
  t.equal(loadConfig({}).exportRecipients, null, 'the sandbox exports to any recipient')
  t.equal(loadConfig({ ...PRODUCTION, SANDBOX: 'true' }).exportRecipients, null)
  t.strictSame(loadConfig(PRODUCTION).exportRecipients, [])
  t.strictSame(loadConfig({ ...PRODUCTION, EXPORT_RECIPIENTS: ' ' }).exportRecipients, [])
  t.strictSame(loadConfig({ ...PRODUCTION, EXPORT_RECIPIENTS: RECIPIENT }).exportRecipients, [RECIPIENT])
})

t.test('a secret is not printed, even when it is invalid', async (t) => {
  const secrets = {
    DATABASE_URL: 'mysql://root:hunter2@db',
    REDIS_URL: 'http://:hunter2@redis',
    KEYSTORE_KEY: 'hunter2',
    IPFS_API_URL: 'https://me:hunter2@kubo.example',
    IPFS_API_AUTHORIZATION: 'hunter2',
    ETHEREUM_RPC_URLS: 'ftp://hunter2',
  }
  const text = problemsOf(secrets).join('\n')
  for (const name of Object.keys(secrets))
    t.match(text, new RegExp(`^${name} must be .*, not the value given \\(hidden\\)$`, 'm'))
  t.notMatch(text, /hunter2/)
})

t.test('the key of the keystore is read unchanged', async (t) => {
  t.equal(loadConfig({ KEYSTORE_KEY: KEY }).keystore.key, KEY)
  t.equal(problemsOf({ KEYSTORE_KEY: KEY.slice(1) }).length, 1)
})

t.test('a secret is read from the file that its _FILE variable names', async (t) => {
  const directory = t.testdir({ key: `${KEY}\n`, urls: 'https://a.example/secret,https://b.example\n', empty: '\n' })
  const config = loadConfig({
    DATABASE_URL: PRODUCTION.DATABASE_URL,
    KEYSTORE_KEY_FILE: join(directory, 'key'),
    POLYGON_RPC_URLS_FILE: join(directory, 'urls'),
  })
  t.equal(config.keystore.key, KEY)
  t.same(config.chains[0]?.rpcUrls, ['https://a.example/secret', 'https://b.example'])
  t.same(config.warnings, [])
  t.same(problemsOf({ KEYSTORE_KEY: KEY, KEYSTORE_KEY_FILE: join(directory, 'key') }), [
    'KEYSTORE_KEY and KEYSTORE_KEY_FILE must not both be set',
  ])
  const missing = join(directory, 'missing')
  t.same(problemsOf({ KEYSTORE_KEY_FILE: missing }), [
    `KEYSTORE_KEY_FILE must name a readable file, not ${missing} (ENOENT)`,
  ])
  const empty = join(directory, 'empty')
  t.same(problemsOf({ REDIS_URL_FILE: empty }), [`REDIS_URL_FILE must name a non-empty file, not ${empty}`])
  const wrong = problemsOf({ KEYSTORE_KEY_FILE: join(directory, 'urls') })
  matchExactly(t, wrong, [/^KEYSTORE_KEY must be 32 bytes in base64/])
  t.notMatch(wrong.join(), /secret/, 'the message does not contain the content of the file')
  matchExactly(
    t,
    loadConfig({ KEYSTORE_DIR_FILE: '/x' }).warnings,
    [/^KEYSTORE_DIR_FILE is not a known setting/],
    'a setting that is no secret has no _FILE variable',
  )
})
