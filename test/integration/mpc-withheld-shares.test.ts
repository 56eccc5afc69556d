/**
 * A coordinator that withholds the end of refreshes, with the signer's database login that records them: the log names
 * shares that only one party has. No party removes older shares then, and the key stays usable.
 */
import t from 'tap'
import { matchExactly } from '../support/match-exactly.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { ALL, refreshed, requested, withWithheldRefreshes } from '../support/withheld-refreshes.ts'

const { stage, wallet, append, held, prepareAlone, refusedBy, settle, start } = await withWithheldRefreshes(t)
const { parties, service } = stage
const { keyId } = wallet

t.test('shares that the log names and only one party holds replace no older ones', async (t) => {
  await service.stopWorker('signer')
  await append(requested)
  matchExactly(t, await prepareAlone(1, 'rfr_x'), [{ ok: true }])
  matchExactly(t, await prepareAlone(2, 'rfr_y'), [{ ok: true }])
  t.strictSame(await held(), [['generated', 'rfr_x'], ['generated', 'rfr_y'], ['generated']])
  const again = { ceremony: 'refresh', keyId, refreshId: 'rfr_x', parties: ALL, repaired: null } as const
  t.match(
    await refusedBy(1, again),
    { kind: 'invalid' },
    'an attempt under the same id would give shares that do not fit',
  )
  t.strictSame((await held()).slice(1), [['generated', 'rfr_y'], ['generated']])
  await append(refreshed(1, 'rfr_x'))
  await settle()
  await append(refreshed(2, 'rfr_y'))
  await settle()
  for (const number of ALL) await parties.stop(number)
  for (const number of ALL) await start(number) // Each looks at all its shares.
  await settle()
  t.strictSame(await held(), [['generated', 'rfr_x'], ['generated', 'rfr_y'], ['generated']])
  const problem = async (number: number) => {
    const { rows } = await service.pool.query('SELECT problem FROM heartbeats WHERE process = $1', [
      `mpc-party-${number}`,
    ])
    return String(rows[0]?.problem)
  }
  await eventually(async () => (await problem(2)).startsWith(`old shares: It keeps older shares of 1 key (${keyId})`))
  for (const number of [1, 3])
    await eventually(async () =>
      (await problem(number)).startsWith(`old shares: Of 1 key (${keyId}) it has old shares only`),
    )
})

t.test('the next refresh begins with the shares that all parties hold, and the wallet signs again', async (t) => {
  await service.startWorker('signer')
  await stage.connected(...ALL)
  const path = `/v1/wallets/${wallet.id}/shares`
  t.equal((await service.api.send(`${path}/refresh`)).status, 202)
  const shares = await service.api.until(path, ({ epoch }) => epoch === 3)
  t.match(shares, { open_refresh: null, last_refresh: { status: 'refreshed' } })
  const { attemptId } = (await stage.keyEvents(keyId)).at(-1)?.data ?? {}
  await eventually(async () => (await held()).flat().length === ALL.length)
  t.strictSame(await held(), [[attemptId], [attemptId], [attemptId]], 'the older shares are removed now')
  await stage.until(wallet, await stage.send(wallet, '1'), 'submitted')
})

t.end()
