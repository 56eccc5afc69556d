/** A disk is lost while the log names shares that only one party has: the others repair it from those that they all hold. */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { SHARES_FOLDER } from '../../src/keys/mpc/share-names.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { ALL, refreshed, requested, withWithheldRefreshes } from '../support/withheld-refreshes.ts'

const LOST = 3
const { stage, wallet, append, held, prepareAlone, start } = await withWithheldRefreshes(t)
const { parties, service } = stage

t.test('helpers repair a share of a generation that all of them hold', async (t) => {
  await service.stopWorker('signer')
  await append(requested)
  matchExactly(t, await prepareAlone(1, 'rfr_x'), [{ ok: true }])
  await append(refreshed(1, 'rfr_x'))
  await parties.stop(LOST)
  const place = parties.places.find(({ number }) => number === LOST)
  await rm(join(place?.directory ?? '', SHARES_FOLDER), { recursive: true })
  await start(LOST)
  t.strictSame(await held(), [['generated', 'rfr_x'], ['generated'], []])

  await service.startWorker('signer')
  await stage.connected(...ALL)
  const path = `/v1/wallets/${wallet.id}/shares`
  const recovery = { method: 'POST', path: `${path}/recover`, key: 'recovery', body: { party: LOST } } as const
  // The shares are so old that a refresh begins by itself: it ends because one is lost.
  await eventually(async () => (await service.api.insist({ ...recovery, prefer: 'respond-async' })).status === 202)
  const shares = await service.api.until(path, ({ epoch }) => epoch === 2)
  t.match(shares, { open_refresh: null, last_refresh: { status: 'refreshed', party: LOST } })
  await stage.until(wallet, await stage.send(wallet, '1'), 'submitted')
})

t.end()
