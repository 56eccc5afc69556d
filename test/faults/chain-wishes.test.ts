/**
 * Cancellations and speed-ups at random times around the block that mines their transfer, and the effects of a reorg on
 * them.
 */
import t from 'tap'
import type { LoadWallet } from '../support/load.ts'
import { createRandom } from '../support/load-random.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { onChain, withStage } from '../support/service-stage.ts'

const SEED = Number(process.env.BURSAR_FAULT_SEED ?? Date.now() % 10_000)
const ROUNDS = 6

const stage = await withStage(t, { env: { REPLACE_AFTER_MS: '1500' } })
const { service, rpc, mine, send, read, until, settle } = stage

function ask(wallet: LoadWallet, id: string, wish: 'cancel' | 'speed-up') {
  const path = `/v1/wallets/${wallet.id}/transactions/${id}/${wish}`
  return service.api.insist({ method: 'POST', path, ...(wish === 'cancel' ? {} : { body: {} }) })
}

t.test('a cancellation that was too late does not start again when the confirmed block is reverted', async (t) => {
  const [wallet] = (await service.makeWallets(1)) as [LoadWallet]
  // Deeper than any reorg here, so that the funds stay.
  await mine(6)
  const id = await send(wallet, '0.000001')
  const { hash } = await until(wallet, id, 'submitted')
  const payment = await rpc('eth_getRawTransactionByHash', hash)
  t.equal((await ask(wallet, id, 'cancel')).status, 202)
  await eventually(async () => {
    const signed = `SELECT FROM events WHERE stream_id = $1 AND data->>'purpose' = 'cancel'`
    return (await service.pool.query(signed, [`transaction-${id}`])).rowCount === 1
  })
  await until(wallet, id, 'submitted')
  // The miner includes the payment that was to be cancelled.
  await rpc('anvil_dropAllTransactions')
  await rpc('eth_sendRawTransaction', payment)
  await mine(4)
  t.match(await until(wallet, id, 'confirmed'), { hash })
  await rpc('anvil_reorg', 5, [])
  await until(wallet, id, 'reorged', 'submitted', 'replaced')
  await settle()
  t.match(await read(wallet, id), { status: 'confirmed' })
  t.strictSame(
    (await onChain(stage, wallet)).map(({ amount }) => amount),
    [10n ** 12n],
    'the payee is paid on the new branch too',
  )
})

t.test(`several cancellations and speed-ups of each transfer, with reorgs, leave one outcome (${SEED})`, async (t) => {
  const random = createRandom(SEED)
  const wallets = await service.makeWallets(4)
  await mine(6)
  const sent: { readonly wallet: LoadWallet; readonly id: string; readonly amount: bigint }[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    const amount = BigInt(round + 1) * 10n ** 12n
    const text = `0.00000${round + 1}`
    const some = await Promise.all(wallets.map(async (wallet) => ({ wallet, id: await send(wallet, text), amount })))
    sent.push(...some)
    if (random.chance(0.5)) await Promise.all(some.map(({ wallet, id }) => until(wallet, id, 'submitted', 'replaced')))
    const asked = some.flatMap(({ wallet, id }) =>
      Array.from({ length: random.between(0, 3) }, () =>
        ask(wallet, id, random.chance(0.4) ? 'cancel' : 'speed-up').then(({ status }) => status),
      ),
    )
    await mine(random.between(1, 2))
    for (const status of await Promise.all(asked)) t.ok([202, 409].includes(status), `the status is ${status}`)
    if (random.chance(0.6)) await rpc('anvil_reorg', random.between(1, 4), [])
    await mine()
  }
  await settle()
  const chains = new Map(await Promise.all(wallets.map(async (one) => [one.id, await onChain(stage, one)] as const)))
  for (const { wallet, id, amount } of sent) {
    const { status } = await read(wallet, id)
    const times = chains.get(wallet.id)?.filter((one) => one.amount === amount).length
    t.equal(times, status === 'confirmed' ? 1 : 0, `${status} and on chain ${times} times`)
    t.ok(['confirmed', 'cancelled'].includes(status), status)
  }
})

t.end()
