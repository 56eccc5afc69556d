/** Concurrent requests: never more is accepted than is available, and all others get the reason. */
import type { Test } from 'tap'
import { told } from '../../support/client.ts'
import { newAddress, type Sandbox } from '../../support/e2e-sandbox.ts'
import { matchExactly } from '../../support/match-exactly.ts'

const REQUESTS = 1_000
const AMOUNT = '0.003'
const WEI = 3n * 10n ** 15n

export async function checkCrowd(t: Test, sandbox: Sandbox): Promise<void> {
  const client = await sandbox.tenant('crowd')
  const wallet = await sandbox.wallet(client, 'ethereum', { ETH: '1' })
  await t.test('a thousand simultaneous transfers are accepted only as far as the balance covers them', async (t) => {
    const to = newAddress()
    const answers = await Promise.all(
      Array.from({ length: REQUESTS }, () =>
        client.post(`${wallet.path}/transfer`, { to, amount: AMOUNT, asset: 'ETH' }, { prefer: 'respond-async' }),
      ),
    )
    const accepted = answers.filter(({ status }) => status === 202)
    const refused = answers.filter(({ status }) => status !== 202)
    t.ok(accepted.length > 0 && BigInt(accepted.length) * WEI <= 10n ** 18n, `${accepted.length} of 1,000 are accepted`)
    t.ok(refused.every((answer) => answer.status === 422 && told(answer)[0] === 'amount insufficient_funds'))
    matchExactly(t, refused[0]?.body.errors, [{ details: { asset: 'ETH', available: /^0\.00/, needed: /^0\.0030/ } }])

    const last = accepted
      .map(({ body }) => body.data.transaction_id as string)
      .sort()
      .at(-1)
    await client.settle(`${wallet.path}/transactions/${last}`)
    const { data } = (await client.get(`${wallet.path}/transactions?limit=100&status=failed`)).body
    t.strictSame(data.transactions, [], 'no accepted transfer fails for lack of funds')
    const received = BigInt((await sandbox.rpc('ethereum', 'eth_getBalance', [to, 'latest'])) as string)
    t.equal(received, BigInt(accepted.length) * WEI, 'each transfer arrives once')
    // The last ones may be settled a moment later than the last of all.
    await client.until(`${wallet.path}/balance`, ({ pending_out }) => pending_out === '0')
  })
}
