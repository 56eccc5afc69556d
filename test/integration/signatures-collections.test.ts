/** Signatures for contracts of collections over HTTP on a real PostgreSQL: only the NFT routes cause them. */
import { concat, keccak256, TypedDataEncoder } from 'ethers'
import t from 'tap'
import { composeRecordedWallets } from '../../src/compose/recorded-wallets.ts'
import { EARLIER_IMPLEMENTATIONS } from '../../src/nft/contracts/earlier-factories.ts'
import { voucherTypedData } from '../../src/nft/contracts/voucher.ts'
import { signatureAggregate } from '../../src/signatures/aggregate.ts'
import { signRecorded } from '../../src/signatures/sign-recorded.ts'
import { createSigningWalletOf } from '../../src/wallets/signing-wallet.ts'
import { told } from '../support/client.ts'
import { TEST_CHAIN } from '../support/log.ts'
import { dataOf, LETTER, withSigning } from '../support/signing-stage.ts'
import { ACME, makeWallet, testSigner } from '../support/wallet-parts.ts'

const COLLECTION = '0x9FbA280c0978627043E84b8Ec1846176e014b540'

t.test(
  'nothing is signed for a collection outside of the NFT routes, whoever owns it and however it is named',
  async (t) => {
    const { parts, post, wallet, events } = await withSigning(t, { env: { SANDBOX: 'true' } })
    const { path } = await wallet()
    await parts.pool.query(
      `INSERT INTO nft_collections (collection_id, tenant_id, wallet_id, network, environment, chain_id, standard, collection_type, name,
       symbol, metadata, cid, base_uri, royalty_bps, transferable, owner_address, contract_address, transaction_id, created_at, version)
     VALUES ('col_1', 'another', 'wal_1', 'ethereum', 'mainnet', $1, 'ERC721', 'SERIES', 'L', 'L', '{}', 'bafy', 'ipfs://', 0, true, $2, $2,
       'tx_1', now(), 1)`,
      [TEST_CHAIN, COLLECTION],
    )
    const terms = {
      tokenId: 2n ** 48n - 1n,
      recipient: null,
      amount: 1n,
      digest: `0x${'2e'.repeat(32)}`,
      validUntil: null,
    }
    const voucher = voucherTypedData(TEST_CHAIN, COLLECTION, terms)
    const { chainId, verifyingContract, ...names } = voucher.domain
    const elsewhere = '0xCcCCccccCCCCcCCCCCCcCcCccCcCCCcCcccccccC'
    const domains = {
      'the voucher itself': voucher.domain,
      'an address in lower case': { ...voucher.domain, verifyingContract: COLLECTION.toLowerCase() },
      'a chain in hex': { ...voucher.domain, chainId: `0x${TEST_CHAIN.toString(16)}` },
      'a chain as text': { ...voucher.domain, chainId: String(TEST_CHAIN) },
      'no chain': { ...names, verifyingContract },
      'no names': { chainId, verifyingContract },
      'a salt': { ...voucher.domain, salt: `0x${'00'.repeat(32)}` },
      'other names': { name: 'Lighthouses', version: '2', chainId, verifyingContract },
      'a collection that the log does not know': { ...voucher.domain, verifyingContract: elsewhere },
      'an implementation of earlier collections': { verifyingContract: EARLIER_IMPLEMENTATIONS[0] },
      'no contract': { ...names, chainId },
    }
    for (const [name, domain] of Object.entries(domains)) {
      const answer = await post(`${path}/sign/typed-data`, { ...voucher, domain })
      t.strictSame([answer.status, ...told(answer)], [409, '- managed_contract'], name)
    }
    const letter = await post(`${path}/sign/typed-data`, {
      ...LETTER,
      domain: { ...LETTER.domain, verifyingContract: COLLECTION },
    })
    t.strictSame(told(letter), ['- managed_contract'], 'whatever its type')
    t.strictSame(await events(), [], 'nothing is recorded')
    t.equal((await post(`${path}/sign/typed-data`, LETTER)).status, 201, 'other contracts are signed for')
    const hash = TypedDataEncoder.hash(voucher.domain, voucher.types, voucher.message)
    const personal = await post(`${path}/sign/message`, { message: hash, encoding: 'hex' })
    t.equal(personal.status, 201)
    t.not(dataOf(personal).digest, hash, 'a message is signed with a prefix, so its signature is no voucher')
    const encoded = concat([
      '0x1901',
      TypedDataEncoder.hashDomain(voucher.domain),
      TypedDataEncoder.hashStruct('Voucher', voucher.types, voucher.message),
    ])
    t.equal(keccak256(encoded), hash)
    t.not(dataOf(await post(`${path}/sign/message`, { message: encoded, encoding: 'hex' })).digest, hash)
  },
)

t.test('a signer signs no voucher that was recorded as typed data, whoever recorded it', async (t) => {
  const { parts, events, get } = await withSigning(t, { signer: false })
  const walletId = await makeWallet(parts)
  const address = String(dataOf(await get(`/v1/wallets/${walletId}`)).address)
  const terms = { tokenId: 1n, recipient: null, amount: 1n, digest: `0x${'2e'.repeat(32)}`, validUntil: null }
  const { domain, types, message } = voucherTypedData(TEST_CHAIN, COLLECTION, terms)
  const place = { walletId, network: 'ethereum', environment: 'mainnet', chainId: TEST_CHAIN, address } as const
  const data = {
    ...{ ...place, tenantId: ACME.tenantId, requestedAt: parts.log.now() },
    ...{ digest: TypedDataEncoder.hash(domain, types, message), typedData: { domain, types, message } },
  }
  const requested = { type: 'TypedDataSignatureRequested', data } as const
  await parts.log.execute(signatureAggregate, 'sig_1', { type: 'RequestSignature', requested }, { metadata: ACME })
  const walletOf = createSigningWalletOf(composeRecordedWallets(parts))
  const signing = { log: parts.log, signer: testSigner(), walletOf, problems: { signature: async () => null } }
  await t.rejects(signRecorded(signing, 'sig_1'), {
    code: 'wallet_unfit',
    message: /vouchers are signed by the NFT routes alone/,
  })
  t.strictSame(
    (await events()).map(({ type }) => type),
    ['TypedDataSignatureRequested'],
  )
})
