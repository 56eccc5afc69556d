/**
 * The reference of error codes is complete: it has every code in the sources, except those known to be in no response.
 */
import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import { CATALOGUE } from '../../src/declarations.ts'
import { errorCodes } from '../../src/http/error-codes.ts'

const ERROR_CODES = errorCodes(CATALOGUE)

/** Code that throws or builds an error item, up to its code. */
const SOURCES = [
  /new (?:Conflict|PermissionDenied|Unavailable|ChainRefused|RequestRefused)\(\s*'([a-z_0-9]+)'/g,
  /new NotFound\(\s*'[a-z_0-9]+',\s*'([a-z_0-9]+)'/g,
  /ValidationFailed\.field\(\s*[^,]+,\s*'([a-z_0-9]+)'/g,
  /'x-code': '([a-z_0-9]+)'/g,
  /\bcode: '([a-z_0-9]+)'/g,
  /override readonly code\b[^=\n]*= '([a-z_0-9]+)'/g,
  /\bmistakes\.note\([^;]{0,80}?, '([a-z_]+)', /g,
]
const NOT_FOUND = /new NotFound\(\s*'([a-z_0-9]+)'\s*\)/g

/** Parts whose codes never reach a response of the API: commands, workers, signers and their dependencies. */
const ELSEWHERE =
  /^(access\/decider|audit\/(anchor|chain|checkpoints|commands|note|set-aside|tree|verify)|cli|compose|event-log\/(?!group-commit)|follower|generated|jobs|key-rotation|keys|operator|replay|restores|sandbox)/

/** Codes of warnings, of failed transactions or refreshes, and of states that the API maps to other codes. */
const IN_NO_ERROR = new Set([
  'could_not_simulate',
  'execution_reverted',
  'nonce_conflict_external',
  'token_not_moved',
  'no_effect',
  'not_simulated',
  'first_transfer_to_recipient',
  'recipient_cannot_receive',
  'recipient_is_contract',
  'recipient_is_new',
  'recipient_is_sender',
  'api_key_already_returned',
  'secret_already_returned',
  'unlimited_spend',
  'unreadable_call',
  // Of policies.
  'allows_nothing',
  'asks_people',
  'never_decides',
  'never_matches',
  'unused_list',
  'mpc_ceremony_failed',
  'invalid_setting',
  'invalid_transition',
  // Of signers: the job of the wallet fails with it.
  'key_indexes_used_up',
  'wallet_unfit',
  'kit_refused',
  'validation_failed',
  // Ids are random: these report that one exists already.
  'collection_exists',
  'export_exists',
  'mint_exists',
  'mpc_key_assigned',
  'mpc_key_exists',
  'signature_exists',
  'swap_exists',
  'transfer_exists',
  'wallet_exists',
  // From a signer, recorded as the refusal of an export.
  'keystore_wrong',
  // From commands.
  'signer_required',
  'cannot_claim',
  'lane_busy',
  'not_as_recorded',
  'not_held',
  // At the start of a process.
  'quorum_too_high',
  'tag_key_missing',
  'tag_key_wrong',
  // In jobs and checks of signers.
  'database_read_only',
  'key_indexes_used_up',
])

t.test('every error code of the API is in the reference', async (t) => {
  const known = new Set(ERROR_CODES.map(({ code }) => code))
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter(
    (path) => path.endsWith('.ts') && !ELSEWHERE.test(path),
  )
  let found = 0
  for (const file of files) {
    const source = readFileSync(`src/${file}`, 'utf8')
    const codes = [
      ...SOURCES.flatMap((pattern) => [...source.matchAll(pattern)].map(([, code]) => code ?? '')),
      ...[...source.matchAll(NOT_FOUND)].map(([, resource]) => `${resource}_not_found`),
    ]
    found += codes.length
    const missing = codes.filter((code) => !known.has(code) && !IN_NO_ERROR.has(code))
    t.strictSame(
      missing,
      [],
      `${file}: add the code to the declaration of its folder, or to src/http/declaration.ts, and run npm run openapi`,
    )
  }
  t.ok(found > 200, `the source has ${found} error codes`)
})

t.test(
  'a code has one status and one action for each of its types, and nothing is retryable by accident',
  async (t) => {
    const keys = ERROR_CODES.map(({ code, type }) => `${code} ${type}`)
    t.equal(new Set(keys).size, keys.length)
    for (const { code, action, retryable, status } of ERROR_CODES) {
      t.match(action, /^[A-Z].*\.$/, code)
      t.equal(retryable, [429, 500, 503].includes(status), code)
    }
  },
)
