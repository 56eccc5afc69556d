/** A case for every route with an `Idempotency-Key`: each makes requests that no other case makes. */
import { createIdentity } from '../../src/keys/age.ts'
import type { Client } from './client.ts'
import { deployToken } from './demo-token.ts'
import { newAddress, type Sandbox, sendTransfer, type Wallet } from './e2e-sandbox.ts'
import { webhookCases } from './idempotent-webhook-calls.ts'
import { calls, type RouteCase } from './route-calls.ts'
import { MAIL } from './typed-data.ts'

type Stage = { readonly sandbox: Sandbox; readonly client: Client; readonly wallet: Wallet }

const WAIT = { prefer: 'wait=60' }
const METADATA = { name: 'Lighthouse #1' }
const NO_WALLET = '/v1/wallets/wal_00000000000000000000000000/restore'
const NO_MINT = '/v1/nft/mints/mint_00000000000000000000000000'
const TOO_MUCH = '1000000'

/** @returns the cases by route, named as in the document: `POST /v1/wallets/create` */
export async function idempotentCalls(sandbox: Sandbox, client: Client): Promise<Readonly<Record<string, RouteCase>>> {
  const stage = { sandbox, client, wallet: await sandbox.wallet(client, 'ethereum', { ETH: '50' }) }
  const nft = await nftCases(stage)
  return {
    ...walletCases(stage),
    ...transactionCases(stage),
    ...signingCases(stage),
    ...(await shareCases(stage)),
    ...webhookCases(client),
    ...apiKeyCases(client),
    ...policyCases(client),
    ...nft,
  }
}

function apiKeyCases(client: Client): Readonly<Record<string, RouteCase>> {
  const scopes = ['wallets:read']
  return {
    'POST /v1/api-keys': async () =>
      calls('key_id', '/v1/api-keys', {
        good: { label: 'one', scopes },
        bad: { label: 'one', scopes: ['wallets:raed'] },
        other: { label: 'two', scopes },
      }),
    'POST /v1/api-keys/{key_id}/rotate': async () => {
      const { key_id } = (await client.post('/v1/api-keys', { scopes })).body.data
      return calls('key_id', `/v1/api-keys/${key_id}/rotate`, {
        good: { overlap_seconds: 1 },
        bad: { overlap_seconds: 604_801 },
        other: { overlap_seconds: 2 },
      })
    },
  }
}

function policyCases(client: Client): Readonly<Record<string, RouteCase>> {
  /** Of a new draft. */
  async function draft(): Promise<number> {
    const revision = Number((await client.get('/v1/policies')).body.data?.draft?.revision ?? 0)
    const policy = {
      default: 'allow',
      rules: [{ id: `rule${revision}`, effect: 'deny', match: { actions: ['export'] } }],
    }
    await client.once({ method: 'PUT', path: '/v1/policies', body: { revision, policy } })
    return revision + 1
  }
  const changing = (path: string): RouteCase => {
    return async () => {
      const revision = await draft()
      return calls('environment', path, { good: { revision }, bad: { revision: 0 }, other: { revision: revision + 1 } })
    }
  }
  return {
    'POST /v1/policies/shadow': changing('/v1/policies/shadow'),
    'POST /v1/policies/publish': changing('/v1/policies/publish'),
  }
}

function walletCases({ sandbox, client, wallet }: Stage): Readonly<Record<string, RouteCase>> {
  return {
    'POST /v1/wallets/create': async () =>
      calls('wallet_id', '/v1/wallets/create', {
        good: { type: 'hd', network: 'ethereum', label: 'once' },
        bad: { type: 'hd', network: 'nowhere' },
        other: { type: 'hd', network: 'ethereum', label: 'twice' },
      }),
    'POST /v1/wallets/watch': async () =>
      calls('wallet_id', '/v1/wallets/watch', {
        good: { network: 'ethereum', address: newAddress() },
        bad: { network: 'ethereum', address: '0x12' },
        other: { network: 'ethereum', address: newAddress() },
      }),
    'POST /v1/wallets/{wallet_id}/restore': async () => {
      const archived = async () => {
        const { path } = await sandbox.wallet(client, 'ethereum')
        await client.remove(path)
        return { path: `${path}/restore` }
      }
      return { id: 'wallet_id', good: await archived(), bad: { path: NO_WALLET }, other: await archived() }
    },
    'POST /v1/assets': async () => {
      const deploy = (symbol: string) =>
        deployToken(sandbox.state.networks.ethereum.rpc_url, { name: symbol, symbol, decimals: 6 })
      return calls('asset_id', '/v1/assets', {
        good: { network: 'ethereum', contract_address: await deploy('ONE') },
        bad: { network: 'ethereum', contract_address: newAddress() },
        other: { network: 'ethereum', contract_address: await deploy('TWO') },
      })
    },
    'POST /v1/sandbox/faucet': async () =>
      calls('transaction_id', '/v1/sandbox/faucet', {
        good: { address: wallet.address, network: 'ethereum', amount: '1' },
        bad: { address: wallet.address, network: 'ethereum', amount: '-1' },
        other: { address: wallet.address, network: 'ethereum', amount: '2' },
      }),
    'POST /v1/wallets/{wallet_id}/export': async () => {
      const [{ recipient }, { recipient: another }] = [await createIdentity(), await createIdentity()]
      const { path } = await sandbox.wallet(client, 'ethereum')
      return calls('export_id', `${path}/export`, {
        good: { recipient },
        bad: { recipient: 'age1' },
        other: { recipient: another },
      })
    },
  }
}

function transactionCases({ sandbox, client, wallet }: Stage): Readonly<Record<string, RouteCase>> {
  /** No block includes the transactions before the route's calls were made. */
  const changing = (action: string): RouteCase => {
    return async (t) => {
      sandbox.holdBlocks(t)
      const send = () => sendTransfer(client, wallet, { to: newAddress(), amount: '0.01', asset: 'ETH' })
      const [good, other] = [await send(), await send()]
      const bad = `${wallet.path}/transactions/tx_00000000000000000000000000`
      await client.until(good, ({ state }) => state === 'submitted')
      return {
        id: 'transaction_id',
        good: { path: `${good}/${action}` },
        bad: { path: `${bad}/${action}` },
        other: { path: `${other}/${action}` },
      }
    }
  }
  return {
    'POST /v1/wallets/{wallet_id}/contract-call': async () => {
      const { rpc_url: url } = sandbox.state.networks.ethereum
      const contract_address = await deployToken(url, { name: 'Called', symbol: 'CALL', decimals: 6 })
      const approve = (amount: string) => ({
        contract_address,
        function_signature: 'approve(address,uint256)',
        args: [wallet.address, amount],
      })
      return calls('transaction_id', `${wallet.path}/contract-call`, {
        good: approve('1'),
        bad: { ...approve('1'), contract_address: newAddress() },
        other: approve('2'),
      })
    },
    'POST /v1/wallets/{wallet_id}/transfer': async () =>
      calls('transaction_id', `${wallet.path}/transfer`, {
        good: { to: newAddress(), amount: '0.1', asset: 'ETH' },
        bad: { to: newAddress(), amount: TOO_MUCH, asset: 'ETH' },
        other: { to: newAddress(), amount: '0.1', asset: 'ETH' },
      }),
    'POST /v1/wallets/{wallet_id}/transfers': async () => {
      const items = (amount: string) => ({
        items: ['0.1', amount].map((each) => ({ to: newAddress(), amount: each, asset: 'ETH' })),
      })
      return calls('batch_id', `${wallet.path}/transfers`, {
        good: items('0.1'),
        bad: items(TOO_MUCH),
        other: items('0.2'),
      })
    },
    'POST /v1/wallets/{wallet_id}/swap': async () =>
      calls('transaction_id', `${wallet.path}/swap`, {
        good: { from_asset: 'ETH', to_asset: 'USDC', amount: '0.1' },
        bad: { from_asset: 'ETH', to_asset: 'USDC', amount: '0' },
        other: { from_asset: 'ETH', to_asset: 'USDC', amount: '0.2' },
      }),
    'POST /v1/wallets/{wallet_id}/transactions/{transaction_id}/cancel': changing('cancel'),
    'POST /v1/wallets/{wallet_id}/transactions/{transaction_id}/speed-up': changing('speed-up'),
  }
}

function signingCases({ sandbox, wallet }: Stage): Readonly<Record<string, RouteCase>> {
  const domain = { ...MAIL.domain, chainId: sandbox.state.networks.ethereum.chain_id }
  const letter = { ...MAIL, domain, primaryType: 'Mail' }
  return {
    'POST /v1/wallets/{wallet_id}/sign/message': async () =>
      calls('signature_id', `${wallet.path}/sign/message`, {
        good: { message: 'once' },
        bad: { message: '0x1', encoding: 'hex' },
        other: { message: 'twice' },
      }),
    'POST /v1/wallets/{wallet_id}/sign/typed-data': async () =>
      calls('signature_id', `${wallet.path}/sign/typed-data`, {
        good: letter,
        bad: { ...letter, primaryType: 'Parcel' },
        other: { ...letter, message: { ...MAIL.message, contents: 'Good-bye' } },
      }),
  }
}

async function shareCases({ client, wallet }: Stage): Promise<Readonly<Record<string, RouteCase>>> {
  const made = await client.post('/v1/wallets/create', { type: 'mpc', network: 'ethereum' }, WAIT)
  const path = `/v1/wallets/${made.body.data.wallet_id}/shares`
  return {
    'POST /v1/wallets/{wallet_id}/shares/refresh': async () => ({
      id: 'refresh_id',
      good: { path: `${path}/refresh` },
      bad: { path: `${wallet.path}/shares/refresh` },
      other: { path: `${path}/recover`, body: { party: 1 } },
    }),
    'POST /v1/wallets/{wallet_id}/shares/recover': async () =>
      calls('refresh_id', `${path}/recover`, {
        good: { party: 1 },
        bad: { party: 9 },
        other: { party: 2 },
      }),
  }
}

async function nftCases({ client, wallet }: Stage): Promise<Readonly<Record<string, RouteCase>>> {
  const collection = { name: 'Once', symbol: 'ONCE', collection_type: 'DYNAMIC' }
  const created = await client.post('/v1/nft/collections/create', collection, WAIT)
  const { collection_id } = created.body.data
  const mint = (body: object) => client.post('/v1/nft/mint', { collection_id, metadata: METADATA, ...body }, WAIT)
  const owned = (await mint({ recipient: wallet.address })).body.data.token_id
  const tokens = `/v1/nft/collections/${collection_id}/tokens`
  const lazy = async () => `/v1/nft/mints/${(await mint({ minting_type: 'LAZY' })).body.data.mint_id}`
  return {
    'POST /v1/nft/collections/create': async () =>
      calls('collection_id', '/v1/nft/collections/create', {
        good: { name: 'Second', symbol: 'SEC' },
        bad: { name: 'Second', symbol: 'SEC', royalty_percentage: 200 },
        other: { name: 'Third', symbol: 'THI' },
      }),
    'POST /v1/nft/mint': async () =>
      calls('mint_id', '/v1/nft/mint', {
        good: { collection_id, recipient: newAddress(), metadata: METADATA },
        bad: { collection_id, recipient: '0x12', metadata: METADATA },
        other: { collection_id, recipient: newAddress(), metadata: METADATA },
      }),
    'POST /v1/nft/mints/{mint_id}/redeem': async () =>
      calls('mint_id', `${await lazy()}/redeem`, {
        good: { recipient: newAddress() },
        bad: { recipient: '0x12' },
        other: { recipient: newAddress() },
      }),
    'POST /v1/nft/mints/{mint_id}/revoke': async () => ({
      id: 'mint_id',
      good: { path: `${await lazy()}/revoke` },
      bad: { path: `${NO_MINT}/revoke` },
      other: { path: `${await lazy()}/revoke` },
    }),
    'POST /v1/nft/transfer': async () =>
      calls('transfer_id', '/v1/nft/transfer', {
        good: { collection_id, from: wallet.address, to: newAddress(), token_id: owned },
        bad: { collection_id, from: wallet.address, to: newAddress(), token_id: '999' },
        other: { collection_id, from: wallet.address, to: newAddress(), token_id: owned },
      }),
    'PATCH /v1/nft/collections/{collection_id}/tokens/{token_id}/metadata': async () => {
      const { token_id } = (await mint({ recipient: newAddress() })).body.data
      return calls('token_id', `${tokens}/${token_id}/metadata`, {
        good: { metadata: { name: 'Changed' } },
        bad: {},
        other: { metadata: { name: 'Changed again' } },
      })
    },
  }
}
