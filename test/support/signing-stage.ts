/** The routes of wallets and of signatures over HTTP on a fresh database, with a signer. */
import { pino } from 'pino'
import type { Test } from 'tap'
import { newId } from '../../src/compose/new-id.ts'
import { type Environ, loadConfig } from '../../src/config.ts'
import { isManagedContract } from '../../src/nft/collections/is-managed.ts'
import { signatureRoutes } from '../../src/signatures/routes.ts'
import { openingRoutes } from '../../src/wallets/opening-routes.ts'
import { walletRoutes } from '../../src/wallets/routes.ts'
import { PRODUCTION } from './config.ts'
import { type Answer, startTestApp } from './http.ts'
import { JUDGES_NOTHING } from './judging.ts'
import { TEST_CHAIN } from './log.ts'
import { MAIL } from './typed-data.ts'
import { CREATE } from './wallet-api.ts'
import { runSigner, withWallets } from './wallet-parts.ts'

/** The example mail of EIP-712 on the chain of the wallet, as a wallet would be asked to sign it. */
export const LETTER = { ...MAIL, domain: { ...MAIL.domain, chainId: TEST_CHAIN }, primaryType: 'Mail' }

type Data = Readonly<Record<string, string | number | null>>
export const dataOf = ({ body }: Answer) => (body.data ?? {}) as Data

export async function withSigning(t: Test, { signer = true, env = {} as Environ } = {}) {
  const parts = await withWallets(t)
  if (signer) await runSigner(t, parts)
  const config = loadConfig({ ...PRODUCTION, ...env })
  const isManaged = (chainId: number, address: string) => isManagedContract(parts.pool, chainId, address)
  const logger = pino({ level: 'silent' })
  const routes = [
    openingRoutes(parts),
    walletRoutes(parts),
    signatureRoutes({ ...parts, newId, config, isManaged, judge: JUDGES_NOTHING, logger }),
  ]
  const { send } = await startTestApp({
    routes: (app) => {
      for (const add of routes) add(app)
    },
  })
  const post = (url: string, payload: object, headers = {}) => send({ method: 'POST', url, payload, headers })
  const get = (url: string, headers = {}) => send({ method: 'GET', url, headers })
  const wallet = async () => {
    const { wallet_id, address } = dataOf(await post('/v1/wallets/create', CREATE))
    return { path: `/v1/wallets/${wallet_id}`, walletId: String(wallet_id), address: String(address) }
  }
  const events = async () =>
    (await parts.pool.query("SELECT type, data FROM events WHERE stream_id LIKE 'signature-%' ORDER BY position")).rows
  return { parts, send, post, get, wallet, events }
}
