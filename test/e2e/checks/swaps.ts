/** Swaps over the exchanges of the sandbox: what was executed equals the change of the balance. */
import type { Test } from 'tap'
import { type Client, told } from '../../support/client.ts'
import { AS_LONG_AS_MAY_BE, type Sandbox, type Wallet } from '../../support/e2e-sandbox.ts'
import { matchExactly } from '../../support/match-exactly.ts'

const NATIVE = { ethereum: 'ETH', polygon: 'POL', binance: 'BNB' } as const

export async function checkSwaps(t: Test, sandbox: Sandbox): Promise<void> {
  const client = await sandbox.tenant('swaps')
  const wallet = await sandbox.wallet(client, 'ethereum', { ETH: '2' })
  await t.test('a quote is executed once, and a token is sold after its approval', (t) => buyAndSell(t, client, wallet))
  await t.test('every network has exchanges', (t) => quoteEverywhere(t, sandbox, client))
}

async function buyAndSell(t: Test, client: Client, wallet: Wallet): Promise<void> {
  const wanted = { from_asset: 'ETH', to_asset: 'USDC', amount: '0.1' }
  const quote = (await client.post(`${wallet.path}/swap/quote`, wanted)).body.data
  t.match(quote, { quote_id: /^quo_/, from_amount: '0.1', min_to_amount: /^\d/, approval: { needed: false } })
  const bought = await client.post(`${wallet.path}/swap`, { quote_id: quote.quote_id }, AS_LONG_AS_MAY_BE)
  t.equal(bought.status, 202, bought.text)
  const purchase = await client.settle(bought)
  t.match(purchase, { status: 'confirmed', type: 'SWAP', swap: { executed_to_amount: /^\d/ } })
  t.strictSame(told(await client.post(`${wallet.path}/swap`, { quote_id: quote.quote_id })), ['- quote_used'])
  const amount: string = purchase.swap.executed_to_amount
  await untilUsdc(client, wallet, amount)

  const sold = await client.post(
    `${wallet.path}/swap`,
    { from_asset: 'USDC', to_asset: 'ETH', amount },
    AS_LONG_AS_MAY_BE,
  )
  t.equal(sold.status, 202, sold.text)
  const sale = await client.settle(sold)
  t.match(sale, { status: 'confirmed', swap: { approval_transaction_id: /^tx_/, executed_to_amount: /^0\.0/ } })
  const approval = await client.settle(`${wallet.path}/transactions/${sale.swap.approval_transaction_id}`)
  t.match(approval, { status: 'confirmed', type: 'APPROVAL' })
  await untilUsdc(client, wallet, '0')
}

async function quoteEverywhere(t: Test, sandbox: Sandbox, client: Client): Promise<void> {
  for (const network of ['polygon', 'binance'] as const) {
    const wallet = await sandbox.wallet(client, network, {})
    const wanted = { from_asset: NATIVE[network], to_asset: 'USDC', amount: '0.1' }
    const quoted = await client.post(`${wallet.path}/swap/quote`, wanted)
    matchExactly(t, quoted.body.data, { route: [{}], issues: { balance: { actual: '0' } } }, quoted.text)
  }
}

async function untilUsdc(client: Client, { path }: Wallet, amount: string): Promise<void> {
  await client.until(`${path}/balance?asset=USDC`, ({ balance }) => balance === amount)
}
