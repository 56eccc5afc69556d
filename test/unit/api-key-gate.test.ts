/** What is checked of a key besides its token: after the body, of a report, and of the days on which it is used. */
import { EventEmitter, once } from 'node:events'
import type { Pool } from 'pg'
import t from 'tap'
import type { LoggedApiKey } from '../../src/access/api-key-rows.ts'
import { createKeyUses } from '../../src/access/key-uses.ts'
import { reportApiKey } from '../../src/access/report-api-key.ts'
import { createToken } from '../../src/access/token.ts'
import type { Caller } from '../../src/http/caller.ts'
import type { Routes } from '../../src/http/request.ts'
import { startTestApp } from '../support/http.ts'

const CALLER: Caller = {
  tenantId: 'acme',
  keyId: 'key_1',
  environment: 'mainnet',
  scopes: new Set(['wallets:write', 'wallets:read']),
  allowsAddress: null,
  requestLimits: [],
  goodUntilMs: 1_000,
}
const tags = ['Things']
const thing = { tags, operationId: 'doThing', summary: 'Do a thing', description: 'Does a thing.' }

t.test('a body that took longer than its key was good for needs a key that is still good', async (t) => {
  const world = { nowMs: 0, now: CALLER as Caller | null, done: 0, verified: 0 }
  const routes: Routes = (app) => {
    const handle = async () => {
      world.done += 1
      return { status: 'success' as const, data: {} }
    }
    app.post('/v1/things', { schema: thing, config: { scope: 'wallets:write', quotas: [] } }, handle)
    app.get('/v1/things', { schema: { ...thing, operationId: 'getThing' }, config: { scope: 'wallets:read' } }, handle)
  }
  const { send } = await startTestApp({
    routes,
    timer: () => world.nowMs,
    authenticator: {
      recall: () => CALLER,
      verify: async () => {
        world.verified += 1
        return world.now
      },
    },
  })
  const post = async () => {
    const { status, body } = await send({ method: 'POST', url: '/v1/things' })
    return body.errors?.[0]?.code ?? status
  }
  world.nowMs = 999
  t.equal(await post(), 200)
  t.equal(world.verified, 0, 'a quick body costs no look at the database')
  world.nowMs = 1_000
  t.equal(await post(), 200)
  t.equal(world.verified, 1)
  for (const [now, code] of [
    [null, 'api_key_invalid'],
    [{ ...CALLER, scopes: new Set(['wallets:read']) }, 'insufficient_scope'],
    [{ ...CALLER, allowsAddress: () => false }, 'address_not_allowed'],
  ] as const) {
    world.now = now
    t.equal(await post(), code)
  }
  t.equal(world.done, 2, 'what is refused then does nothing')
  t.equal(
    (await send({ method: 'GET', url: '/v1/things' })).status,
    200,
    'a request without a body is not checked twice',
  )
})

t.test('a report is answered after a whole number of waits, whatever it finds', async (t) => {
  const token = createToken('mainnet')
  for (const found of ['unknown', 'active', 'revoked'] as const) {
    let waits = 0
    let revoked = 0
    const work = new EventEmitter()
    const ctx: Parameters<typeof reportApiKey>[0] = {
      keys: {
        byDigest: async () => {
          await once(work, 'answer')
          return found === 'unknown'
            ? undefined
            : ({ keyId: 'key_1', revokedAt: found === 'revoked' ? new Date(0) : null } as LoggedApiKey)
        },
      },
      revoke: async () => {
        revoked += 1
        return { keyId: 'key_1', tenantId: 'acme', revokedAt: '' }
      },
      // The database answers during the second wait.
      wait: async () => {
        waits += 1
        if (waits === 2) work.emit('answer')
        await new Promise(setImmediate)
      },
    }
    await reportApiKey(ctx, token, 'req_1')
    t.strictSame([waits, revoked], [2, found === 'active' ? 1 : 0], found)
  }
  let waits = 0
  const away: Parameters<typeof reportApiKey>[0] = {
    keys: { byDigest: () => Promise.reject(new Error('away')) },
    revoke: () => Promise.reject(new Error('not asked')),
    wait: async () => {
      waits += 1
    },
  }
  await t.rejects(reportApiKey(away, token, 'req_1'), { message: 'away' })
  t.ok(waits >= 1, 'nor does a failure come sooner')
})

t.test('days of use are written together, once, and again after a failure', async (t) => {
  const written: string[][] = []
  let fails = true
  const pool = {
    async query({ values }: { values: [string[], string[]] }) {
      if (fails) throw new Error('away')
      written.push(values[0].map((id, n) => `${id} ${values[1][n]}`))
    },
  } as unknown as Pool
  const problems: unknown[] = []
  const failed = new EventEmitter()
  const uses = createKeyUses(pool, (error) => {
    problems.push(error)
    failed.emit('failed')
  })
  const [day, next] = [Date.parse('2026-11-30T23:59:59.999Z'), Date.parse('2026-12-01T00:00:00.000Z')]
  const failure = once(failed, 'failed')
  for (const id of ['key_b', 'key_a', 'key_b']) uses.note(id, day)
  await failure
  fails = false
  uses.note('key_a', next)
  await uses.close()
  t.equal(problems.length, 1)
  t.strictSame(written, [['key_a 2026-12-01', 'key_b 2026-11-30']])
  uses.note('key_a', next)
  await uses.close()
  t.equal(written.length, 1, 'a use of the same day writes nothing')
})
