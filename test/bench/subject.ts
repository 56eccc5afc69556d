/** The measured service: the sandbox as a user starts it, with a funded wallet, and the bare server beside it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { accepted } from '../support/client.ts'
import type { Service } from '../support/service.ts'
import { startService } from '../support/service.ts'

export type Subject = { readonly service: Service; readonly bareUrl: string; readonly close: () => Promise<void> }

export const RECIPIENT = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'

/** @param env settings in addition to the sandbox's own */
export async function startSubject(env: Readonly<Record<string, string>> = {}): Promise<Subject> {
  const service = await startService({ env })
  const bare = await startBare(service.state().database_url)
  return {
    service,
    bareUrl: bare.url,
    async close() {
      bare.child.kill()
      await service.close()
    },
  }
}

async function startBare(databaseUrl: string): Promise<{ url: string; child: ChildProcess }> {
  const entry = fileURLToPath(new URL('bare-server.ts', import.meta.url))
  const child = spawn(process.execPath, ['--import', 'tsx', entry], {
    env: { ...process.env, DATABASE_URL: databaseUrl },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [url] = (await once(child.stdout, 'data')) as [Buffer]
  return { url: url.toString().trim(), child }
}

export function authHeaders({ service }: Subject): Record<string, string> {
  return { authorization: `Bearer ${service.state().api_key}`, 'content-type': 'application/json' }
}

/** One call of the API. @throws Error with its message when it refuses */
export async function call<T>({ service }: Subject, method: string, path: string, body?: unknown): Promise<T> {
  return accepted(await service.api.once({ method, path, body }))
}

/** Funded hd wallets on ethereum. */
export async function fundedWallets(subject: Subject, count: number): Promise<string[]> {
  return Promise.all(
    Array.from({ length: count }, async () => {
      const wallet = await call<{ wallet_id: string; address: string }>(subject, 'POST', '/v1/wallets/create', {
        type: 'hd',
        network: 'ethereum',
        label: 'bench',
      })
      await call(subject, 'POST', '/v1/sandbox/faucet', {
        address: wallet.address,
        network: 'ethereum',
        amount: '1000',
      })
      return wallet.wallet_id
    }),
  )
}

/** Sends a minimal transfer. Returns its transaction's id as soon as it is accepted. */
export async function sendTransfer(subject: Subject, walletId: string): Promise<string> {
  const body = { to: RECIPIENT, amount: '0.001', asset: 'ETH' }
  const path = `/v1/wallets/${walletId}/transfer`
  return (await call<{ transaction_id: string }>(subject, 'POST', path, body)).transaction_id
}

/** @throws Error when it has another outcome */
export async function untilConfirmed({ service }: Subject, walletId: string, transactionId: string): Promise<void> {
  const { status } = await service.api.settle(`/v1/wallets/${walletId}/transactions/${transactionId}`)
  if (status !== 'confirmed') throw new Error(`${transactionId} is ${status}`)
}
