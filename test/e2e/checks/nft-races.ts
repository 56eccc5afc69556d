/** A program that has an open voucher and a redemption of it, in one block: the answer says what the contract says. */
import { Wallet } from 'ethers'
import type { Test } from 'tap'
import { COLLECTION_ABI } from '../../../src/nft/contracts/artefact.ts'
import { told } from '../../support/client.ts'
import { AS_LONG_AS_MAY_BE, newAddress, type Sandbox } from '../../support/e2e-sandbox.ts'
import { matchExactly } from '../../support/match-exactly.ts'
import { encodeRedeem } from '../../support/redeem-call.ts'
import { eventually } from '../../support/sandbox-eventually.ts'

const ASYNC = { prefer: 'respond-async' }

export async function checkVoucherRaces(t: Test, sandbox: Sandbox): Promise<void> {
  const client = await sandbox.tenant('races')
  const collection = { name: 'Lighthouses', symbol: 'LIGHT' }
  const created = await client.post('/v1/nft/collections/create', collection, AS_LONG_AS_MAY_BE)
  t.equal(created.status, 201, created.text)
  const { collection_id, contract_address: to } = created.body.data
  const rpc = (method: string, params: readonly unknown[]) => sandbox.rpc('ethereum', method, params)
  const thief = new Wallet(Wallet.createRandom().privateKey)
  const faucet = { address: thief.address, network: 'ethereum', asset: 'ETH', amount: '1' }
  t.equal((await client.post('/v1/sandbox/faucet', faucet)).status, 201)
  for (const [nonce, isFaster] of [true, false].entries()) {
    const body = { collection_id, minting_type: 'LAZY', metadata: { name: 'One' } }
    const { mint_id, token_id, voucher } = (await client.post('/v1/nft/mint', body, AS_LONG_AS_MAY_BE)).body.data
    const recipient = newAddress()
    const redeem = (preference: object) =>
      client.post(
        `/v1/nft/mints/${mint_id}/redeem`,
        { recipient },
        { ...preference, 'idempotency-key': `race-${mint_id}` },
      )
    const release = sandbox.holdBlocks(t)
    t.equal((await redeem(ASYNC)).status, 202)
    const sent = await eventually(async () => {
      const { transaction_hash } = (await client.get(`/v1/nft/mints/${mint_id}`)).body.data
      const known = transaction_hash && (await rpc('eth_getTransactionByHash', [transaction_hash]))
      return (known ?? false) as { maxPriorityFeePerGas: string; maxFeePerGas: string } | false
    })
    const { tokenId, amount, digest } = voucher.message
    const terms = { tokenId: BigInt(tokenId), recipient: null, amount: BigInt(amount), digest, validUntil: null }
    const tip = isFaster ? BigInt(sent.maxPriorityFeePerGas) * 10n + 1n : 0n
    const raw = await thief.signTransaction({
      ...{ type: 2, chainId: voucher.domain.chainId, nonce, to, gasLimit: 300_000n },
      ...{ maxPriorityFeePerGas: tip, maxFeePerGas: BigInt(sent.maxFeePerGas) + tip },
      data: encodeRedeem(terms, voucher.signature, thief.address),
    })
    const hash = await rpc('eth_sendRawTransaction', [raw])
    release()
    const answer = await redeem(AS_LONG_AS_MAY_BE)
    const { status } = (await rpc('eth_getTransactionReceipt', [hash])) as { status: string }
    t.equal(status, isFaster ? '0x1' : '0x0')
    const data = COLLECTION_ABI.ERC721.encodeFunctionData('ownerOf', [BigInt(token_id)])
    const result = (await rpc('eth_call', [{ to, data }, 'latest'])) as string
    const [owner] = COLLECTION_ABI.ERC721.decodeFunctionResult('ownerOf', result)
    t.equal(owner, isFaster ? thief.address : recipient)
    if (isFaster) t.strictSame([answer.status, ...told(answer)], [409, '- minted_to_another'], answer.text)
    else matchExactly(t, [answer.status, answer.body.data], [200, { status: 'MINTED', owner, outcome: 'AS_REQUESTED' }])
    const read = (await client.get(`/v1/nft/mints/${mint_id}`)).body.data
    t.match(read, { status: 'MINTED', owner, outcome: isFaster ? 'BY_HOLDER' : 'AS_REQUESTED' })
  }
}
