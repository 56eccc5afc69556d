/** The routes of wallets and of signatures over HTTP on a fresh database, with a signer. */
import type { Test } from 'tap'
import type { Environ } from '../../src/config.ts'
import { serve } from './capabilities.ts'
import type { Answer } from './http.ts'
import { TEST_CHAIN } from './log.ts'
import { MAIL } from './typed-data.ts'
import { CREATE } from './wallet-api.ts'
import { runSigner, withWallets } from './wallet-parts.ts'

/** The example mail of EIP-712 on the chain of the wallet, as a wallet would be asked to sign it. */
export const LETTER = { ...MAIL, domain: { ...MAIL.domain, chainId: TEST_CHAIN }, primaryType: 'Mail' }

type Data = Readonly<Record<string, string | number | null>>
export const dataOf = ({ body }: Answer) => (body.data ?? {}) as Data

export async function withSigning(t: Test, { signer = true, env = {} as Environ } = {}) {
  const parts = await withWallets(t, {}, env)
  if (signer) await runSigner(t, parts)
  const { send, post } = await serve(parts, ['wallets', 'signatures'])
  const get = (url: string, headers = {}) => send({ method: 'GET', url, headers })
  const wallet = async () => {
    const { wallet_id, address } = dataOf(await post('/v1/wallets/create', CREATE))
    return { path: `/v1/wallets/${wallet_id}`, walletId: String(wallet_id), address: String(address) }
  }
  const events = async () =>
    (await parts.pool.query("SELECT type, data FROM events WHERE stream_id LIKE 'signature-%' ORDER BY position")).rows
  return { parts, send, post, get, wallet, events }
}
