/** A policy, by the commands of the README: it is drafted and published, and a transfer that it denies is refused. */
import type { Test } from 'tap'
import type { Sandbox } from '../../support/e2e-sandbox.ts'
import { matchExactly } from '../../support/match-exactly.ts'
import { pastePage } from '../../support/paste-page.ts'

const SECTION = 'A policy that says what wallets may do'

export async function checkPolicies(t: Test, sandbox: Sandbox): Promise<void> {
  await t.test('the commands of the README publish a policy that refuses a large transfer', async (t) => {
    const { client, state, query } = sandbox
    const { walletId, path } = await sandbox.wallet(client, 'ethereum', { ETH: '10' })
    const env = { URL: state.base_url, KEY: state.api_key, WALLET: walletId }
    const [drafted, published, refused] = await pastePage('../README.md', env, SECTION)
    matchExactly(t, drafted, { status: 'success', data: { draft: { revision: 1, warnings: [] } } })
    t.match(published, { status: 'success', data: { active: { version: 1, status: 'active' } } })
    matchExactly(t, refused, {
      status: 'error',
      errors: [
        {
          type: 'policy_error',
          code: 'policy_denied',
          message: /^The rule large of the policy denies this request\./,
          details: { rule: 'large', version: 1, reason: 'denied' },
        },
      ],
    })
    t.strictSame(
      await query('SELECT FROM transactions WHERE wallet_id = $1', [walletId]),
      [],
      'nothing is recorded of it',
    )
    const small = await client.post(`${path}/transfer`, {
      to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
      amount: '1',
      asset: 'ETH',
    })
    t.equal(small.status, 202)
    t.equal((await client.settle(small)).status, 'confirmed')
    // The other checks of this tenant send as much as they like.
    const free = { revision: 1, policy: { default: 'allow', rules: [] } }
    t.equal((await client.once({ method: 'PUT', path: '/v1/policies', body: free })).status, 200)
    t.match(await client.post('/v1/policies/publish', { revision: 2 }), { status: 200 })
  })
}
