/** A key with a limit, by the commands of the README: shells that race for the limit, and what left the wallet on chain. */
import type { Test } from 'tap'
import type { Sandbox } from '../../support/e2e-sandbox.ts'
import { matchExactly } from '../../support/match-exactly.ts'
import { pastePage } from '../../support/paste-page.ts'

const SECTION = 'An API key that can spend only so much'
const LIMIT_WEI = 10n ** 18n
const AMOUNT_WEI = 3n * 10n ** 17n
const SHELLS = 12
const FIT = 3

export async function checkKeyLimits(t: Test, sandbox: Sandbox): Promise<void> {
  await t.test('the commands of the README let twelve shells spend no more than the limit of their key', async (t) => {
    const { client, state, rpc, query } = sandbox
    const { walletId, address, path } = await sandbox.wallet(client, 'ethereum', { ETH: '10' })
    const onChain = async (method: string) => BigInt(String(await rpc('ethereum', method, [address, 'latest'])))
    const before = await onChain('eth_getBalance')
    const env = { URL: state.base_url, KEY: state.api_key, WALLET: walletId }
    const answers = await pastePage('../README.md', env, SECTION)
    t.equal(answers.length, SHELLS)
    const accepted = answers.filter(({ status }) => status === 'success')
    t.equal(accepted.length, FIT)
    for (const refused of answers.filter(({ status }) => status !== 'success'))
      matchExactly(t, refused, {
        errors: [
          {
            type: 'policy_error',
            code: 'key_limit',
            message: /^The API key has 0\.09\d* ETH left, and this needs 0\.3\d* ETH\./,
            details: { limit: '1', unit: 'ETH', window_seconds: 86_400, left: /^0\.09/, needed: /^0\.3/ },
          },
        ],
      })
    const ids = accepted.map(({ data }) => String(data.transaction_id))
    for (const id of ids) t.equal((await client.settle(`${path}/transactions/${id}`)).status, 'confirmed')
    t.equal(await onChain('eth_getTransactionCount'), BigInt(FIT))
    const left = before - (await onChain('eth_getBalance'))
    t.ok(left > BigInt(FIT) * AMOUNT_WEI && left <= LIMIT_WEI, `${left} wei left the wallet`)
    const recorded = await query('SELECT transaction_id FROM transactions WHERE wallet_id = $1 ORDER BY 1', [walletId])
    t.strictSame(
      recorded.map(({ transaction_id }) => transaction_id),
      ids.toSorted(),
      'a refused request is not recorded',
    )
  })
}
