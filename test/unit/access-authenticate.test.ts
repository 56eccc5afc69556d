/** How long a process caches an API key, and what it does not cache. */
import t from 'tap'
import type { LoggedApiKey } from '../../src/access/api-key-rows.ts'
import { createAuthenticator } from '../../src/access/authenticate.ts'
import { createToken, digestOf } from '../../src/access/token.ts'
import { Unavailable } from '../../src/core/errors.ts'
import { batchLookups } from '../../src/event-log/batch-lookups.ts'

const NOW = '2026-11-21T12:00:00.000Z'
const row: LoggedApiKey = {
  keyId: 'key_1',
  tenantId: 'acme',
  environment: 'mainnet',
  label: '',
  scopes: ['wallets:read'],
  grants: ['wallets:read'],
  ipAllowlist: [],
  limits: [],
  issuedBy: null,
  expiresAt: null,
  revokedAt: null,
  createdAt: new Date(NOW),
}

/** An authenticator over rows and a time that a test sets, with the steps of its clock; `asked` counts the database queries. */
function authenticatorOver(rows: Map<string, LoggedApiKey>) {
  const world = { nowMs: Date.parse(NOW), stepMs: 0, asked: 0, used: [] as string[], answer: () => Promise.resolve() }
  const byDigest = async (digest: string) => {
    world.asked += 1
    const found = rows.get(digest)
    await world.answer()
    return found
  }
  const authenticator = createAuthenticator({
    keys: { byDigest },
    clock: () => world.nowMs + world.stepMs,
    timer: () => world.nowMs,
    onUse: (keyId, nowMs) => world.used.push(`${keyId} ${new Date(nowMs).toISOString().slice(0, 10)}`),
  })
  return { world, authenticator }
}

t.test('a valid key is cached for a second, and then read again', async (t) => {
  const token = createToken('mainnet')
  const { world, authenticator } = authenticatorOver(new Map([[digestOf(token), row]]))
  t.equal(authenticator.recall(token), undefined)
  const caller = await authenticator.verify(token)
  t.strictSame(caller, {
    tenantId: 'acme',
    keyId: 'key_1',
    environment: 'mainnet',
    scopes: new Set(['wallets:read']),
    allowsAddress: null,
    requestLimits: [],
    goodUntilMs: world.nowMs + 1_000,
  })
  world.nowMs += 999
  t.equal(authenticator.recall(token), caller)
  world.nowMs += 1
  t.equal(authenticator.recall(token), undefined)
  t.strictSame(await authenticator.verify(token), { ...caller, goodUntilMs: world.nowMs + 1_000 })
  t.equal(world.asked, 2)
})

t.test('unknown, revoked and expired keys look the same', async (t) => {
  const [unknown, gone, old] = [createToken('mainnet'), createToken('mainnet'), createToken('mainnet')]
  const { authenticator } = authenticatorOver(
    new Map([
      [digestOf(gone), { ...row, revokedAt: new Date(NOW) }],
      [digestOf(old), { ...row, expiresAt: new Date(NOW) }],
    ]),
  )
  for (const token of [unknown, gone, old]) {
    t.equal(await authenticator.verify(token), null)
    t.equal(authenticator.recall(token), undefined)
  }
})

t.test('a key expires to the millisecond, cached or not', async (t) => {
  const token = createToken('mainnet')
  const expiresAt = new Date(Date.parse(NOW) + 300)
  const { world, authenticator } = authenticatorOver(new Map([[digestOf(token), { ...row, expiresAt }]]))
  t.ok(await authenticator.verify(token))
  world.nowMs += 299
  t.ok(authenticator.recall(token))
  world.nowMs += 1
  t.equal(authenticator.recall(token), undefined)
  t.equal(await authenticator.verify(token), null)
})

t.test('an unknown token is refused from the cache for a moment, then looked up again', async (t) => {
  const token = createToken('mainnet')
  const rows = new Map<string, LoggedApiKey>()
  const { world, authenticator } = authenticatorOver(rows)
  t.equal(await authenticator.verify(token), null)
  rows.set(digestOf(token), row)
  t.equal(await authenticator.verify(token), null)
  t.equal(world.asked, 1)
  world.nowMs += 250
  t.ok(await authenticator.verify(token))
  t.equal(await authenticator.verify('no token at all'), null)
  t.equal(world.asked, 2, 'a malformed token causes no database query')
})

t.test('simultaneous requests make one query, and an error is not cached', async (t) => {
  const token = createToken('mainnet')
  const { world, authenticator } = authenticatorOver(new Map([[digestOf(token), row]]))
  world.answer = () => Promise.reject(new Unavailable('database_unavailable', 'away'))
  const failed = await Promise.allSettled(Array.from({ length: 10 }, () => authenticator.verify(token)))
  t.ok(failed.every(({ status }) => status === 'rejected'))
  t.equal(world.asked, 1)
  world.answer = () => Promise.resolve()
  const callers = await Promise.all(Array.from({ length: 10 }, () => authenticator.verify(token)))
  t.ok(callers.every((caller) => caller?.keyId === 'key_1'))
  t.equal(world.asked, 2)
})

t.test('guessed keys cause few queries, and a valid key waits for two of them at most', async (t) => {
  const good = { ...row, keyId: 'key_good' }
  const queries: { readonly names: readonly string[]; readonly answer: () => void }[] = []
  const find = batchLookups(async (names: readonly string[]) => {
    await new Promise<void>((resolve) => queries.push({ names, answer: resolve }))
    return new Map([['good', good]])
  })
  const guesses = Array.from({ length: 3_000 }, (_, guess) => find(`guess ${guess}`))
  t.equal(queries.length, 4, 'at most 4 queries run at the same time')
  const wanted = find('good')
  const more = Array.from({ length: 3_000 }, (_, guess) => find(`late guess ${guess}`))
  for (let round = 0; queries.length > 0; round++) {
    for (const { names, answer } of queries.splice(0)) {
      t.ok(names.length <= 1_000)
      if (names.includes('good')) t.equal(round, 1, 'the valid key is in the batch that follows the running one')
      answer()
    }
    await new Promise(setImmediate)
  }
  t.equal(await wanted, good)
  t.ok((await Promise.all([...guesses, ...more])).every((found) => found === undefined))
})

t.test('a failed query fails the requests that waited for it, and the next request queries again', async (t) => {
  const down = new Unavailable('database_unavailable', 'away')
  let fails = true
  const find = batchLookups(async () => {
    if (fails) throw down
    return new Map([['a', row]])
  })
  const failed = await Promise.allSettled(Array.from({ length: 10 }, () => find('a')))
  t.ok(failed.every((outcome) => outcome.status === 'rejected' && outcome.reason === down))
  fails = false
  t.equal(await find('a'), row)
})

t.test('a key dropped from the cache is read at once, even while an older query is pending', async (t) => {
  const token = createToken('mainnet')
  const rows = new Map([[digestOf(token), row]])
  const { world, authenticator } = authenticatorOver(rows)
  await authenticator.verify(token)
  const revokedRow = { ...row, revokedAt: new Date(NOW) }
  rows.set(digestOf(token), revokedRow)
  authenticator.forget('key_other')
  t.ok(authenticator.recall(token))
  authenticator.forget('key_1')
  t.equal(authenticator.recall(token), undefined)
  t.equal(await authenticator.verify(token), null)

  world.nowMs += 1_000
  rows.set(digestOf(token), row)
  let answer: () => void = () => undefined
  world.answer = () =>
    new Promise<void>((resolve) => {
      answer = resolve
    })
  const older = authenticator.verify(token) // Reads the row before the revocation.
  rows.set(digestOf(token), revokedRow)
  authenticator.forget('key_1')
  world.answer = () => Promise.resolve()
  t.equal(await authenticator.verify(token), null)
  answer()
  await older
  t.equal(authenticator.recall(token), undefined, 'the older query does not fill the cache')
})

t.test('a clock that is set back lets no key in for longer', async (t) => {
  const token = createToken('mainnet')
  const rows = new Map([[digestOf(token), row]])
  const { world, authenticator } = authenticatorOver(rows)
  await authenticator.verify(token)
  rows.set(digestOf(token), { ...row, revokedAt: new Date(NOW) })
  world.stepMs = -3_600_000
  world.nowMs += 999
  t.ok(authenticator.recall(token))
  world.nowMs += 1
  t.equal(authenticator.recall(token), undefined)
  t.equal(await authenticator.verify(token), null)
})

t.test('a slow read serves requests that began at most a second after it, and nobody afterwards', async (t) => {
  const token = createToken('mainnet')
  const rows = new Map([[digestOf(token), row]])
  const { world, authenticator } = authenticatorOver(rows)
  const answers: (() => void)[] = []
  world.answer = () => new Promise<void>((resolve) => answers.push(resolve))
  const first = authenticator.verify(token)
  world.nowMs += 999
  const second = authenticator.verify(token)
  t.equal(world.asked, 1, 'they share the read')
  rows.set(digestOf(token), { ...row, revokedAt: new Date(NOW) })
  world.nowMs += 1
  const third = authenticator.verify(token)
  t.equal(world.asked, 2, 'the read began a second before: it does not serve this request')
  world.nowMs += 60_000
  answers[0]?.()
  t.equal((await first)?.keyId, 'key_1', 'however long it takes')
  t.equal((await second)?.keyId, 'key_1')
  t.equal(authenticator.recall(token), undefined, 'it is too old for later requests')
  const fourth = authenticator.verify(token)
  t.equal(world.asked, 3)
  answers[1]?.()
  answers[2]?.()
  t.strictSame(await Promise.all([third, fourth]), [null, null], 'it was revoked before these reads began')
})

t.test('a read is cached for what is left of the second since its begin', async (t) => {
  const token = createToken('mainnet')
  const { world, authenticator } = authenticatorOver(new Map([[digestOf(token), row]]))
  world.answer = async () => {
    world.nowMs += 999
  }
  t.ok(await authenticator.verify(token))
  t.ok(authenticator.recall(token))
  world.nowMs += 1
  t.equal(authenticator.recall(token), undefined)
})

t.test('a key is used on each day on which it is presented', async (t) => {
  const token = createToken('mainnet')
  const { world, authenticator } = authenticatorOver(new Map([[digestOf(token), row]]))
  world.nowMs = Date.parse('2026-11-21T23:59:59.600Z')
  await authenticator.verify(token)
  world.nowMs += 399
  t.ok(authenticator.recall(token))
  world.nowMs += 1
  t.equal(authenticator.recall(token), undefined, 'the first request of a day is seen')
  await authenticator.verify(token)
  t.strictSame(world.used, ['key_1 2026-11-21', 'key_1 2026-11-22'])
})

t.test('a caller may come from the addresses of its list alone', async (t) => {
  const token = createToken('mainnet')
  const listed = { ...row, ipAllowlist: ['203.0.113.0/24', '2001:db8::/32'] }
  const { authenticator } = authenticatorOver(new Map([[digestOf(token), listed]]))
  const { allowsAddress } = (await authenticator.verify(token)) ?? {}
  for (const address of ['203.0.113.0', '203.0.113.255', '::ffff:203.0.113.7', '::ffff:cb00:7107', '2001:db8::1'])
    t.equal(allowsAddress?.(address), true, address)
  for (const address of [
    '203.0.112.255',
    '::ffff:203.0.114.0',
    '2001:db9::1',
    '::203.0.113.7',
    '',
    'localhost',
    '203.0.113',
  ])
    t.equal(allowsAddress?.(address), false, address)
})
