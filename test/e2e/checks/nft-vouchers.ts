/** Lazy mints and metadata updates, on the chains of the sandbox: responses match the contract's state. */
import { verifyTypedData } from 'ethers'
import type { Test } from 'tap'
import { COLLECTION_ABI } from '../../../src/nft/contracts/artefact.ts'
import { told } from '../../support/client.ts'
import { AS_LONG_AS_MAY_BE, newAddress, type Sandbox } from '../../support/e2e-sandbox.ts'
import { matchExactly } from '../../support/match-exactly.ts'

const METADATA = { name: 'Lighthouse #1' }
const FIELDS = ['tokenId uint256', 'recipient address', 'amount uint256', 'digest bytes32', 'validUntil uint256']
const TYPES = {
  Voucher: FIELDS.map((field) => {
    const [name = '', type = ''] = field.split(' ')
    return { name, type }
  }),
}

export async function checkVouchers(t: Test, sandbox: Sandbox): Promise<void> {
  const client = await sandbox.tenant('vouchers')
  const collection = { name: 'Lighthouses', symbol: 'LIGHT', collection_type: 'DYNAMIC' }
  const created = await client.post('/v1/nft/collections/create', collection, AS_LONG_AS_MAY_BE)
  t.equal(created.status, 201, created.text)
  const { collection_id, contract_address, owner } = created.body.data
  const read = async (method: string, ...values: unknown[]) => {
    const data = COLLECTION_ABI.ERC721.encodeFunctionData(method, values)
    const answer = await sandbox.rpc('ethereum', 'eth_call', [{ to: contract_address, data }, 'latest'])
    return COLLECTION_ABI.ERC721.decodeFunctionResult(method, answer as string)[0]
  }
  const lazy = async () => {
    const answer = await client.post(
      '/v1/nft/mint',
      { collection_id, minting_type: 'LAZY', metadata: METADATA },
      AS_LONG_AS_MAY_BE,
    )
    matchExactly(t, [answer.status, answer.body.data.status], [201, 'LAZY'], answer.text)
    return answer.body.data
  }
  const { mint_id, token_id, voucher } = await lazy()
  t.equal(verifyTypedData(voucher.domain, TYPES, voucher.message, voucher.signature), owner)
  const holder = newAddress()
  const redeemed = await client.post(`/v1/nft/mints/${mint_id}/redeem`, { recipient: holder }, AS_LONG_AS_MAY_BE)
  matchExactly(t, [redeemed.status, redeemed.body.data.status], [200, 'MINTED'], redeemed.text)
  t.equal(await read('ownerOf', BigInt(token_id)), holder)
  t.match(redeemed.body.data, { owner: holder, outcome: 'AS_REQUESTED' })
  const hash = redeemed.body.data.transaction_hash
  const sent = (await sandbox.rpc('ethereum', 'eth_getTransactionByHash', [hash])) as { input: string }
  t.notOk(sent.input.includes(voucher.signature.slice(2, 66)), 'what everybody sees contains no signature')
  const { domain, message } = voucher
  const typed = { domain, types: TYPES, primaryType: 'Voucher', message: { ...message, tokenId: '9' } }
  const { wallet_id } = created.body.data
  t.strictSame(told(await client.post(`/v1/wallets/${wallet_id}/sign/typed-data`, typed)), ['- managed_contract'])
  t.strictSame(told(await client.post(`/v1/nft/mints/${mint_id}/redeem`, { recipient: holder })), [
    '- already_redeemed',
  ])

  const second = await lazy()
  const revoked = await client.post(`/v1/nft/mints/${second.mint_id}/revoke`, {}, AS_LONG_AS_MAY_BE)
  matchExactly(t, [revoked.status, revoked.body.data.status], [200, 'REVOKED'], revoked.text)
  t.strictSame(told(await client.post(`/v1/nft/mints/${second.mint_id}/redeem`, { recipient: holder })), [
    '- voucher_revoked',
  ])

  const place = `/v1/nft/collections/${collection_id}/tokens/${token_id}`
  const patch = (body: object) =>
    client.once({ method: 'PATCH', path: `${place}/metadata`, body, headers: AS_LONG_AS_MAY_BE })
  const changed = await patch({ metadata: { ...METADATA, description: 'Lit.' } })
  t.equal(changed.status, 200, changed.text)
  t.equal(await read('tokenURI', BigInt(token_id)), changed.body.data.metadata_uri)
  t.not(changed.body.data.metadata_uri, redeemed.body.data.metadata_uri)
  const frozen = await patch({ freeze: true })
  matchExactly(t, [frozen.status, frozen.body.data.frozen], [200, true], frozen.text)
  t.strictSame(told(await patch({ metadata: METADATA })), ['- metadata_frozen'])
}
