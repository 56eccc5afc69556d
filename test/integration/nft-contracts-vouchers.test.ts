/**
 * Vouchers: the contract accepts what ethers signs, once, in time, for the right recipient, and not after a revocation.
 */
import { verifyTypedData } from 'ethers/hash'
import { type HDNodeWallet, Wallet } from 'ethers/wallet'
import t from 'tap'
import { toQuantity } from '../../src/chain/hex.ts'
import { encodeMint, encodeRevoke } from '../../src/nft/contracts/encode-calls.ts'
import { type Voucher, voucherHash, voucherTypedData } from '../../src/nft/contracts/voucher.ts'
import { callRpc } from '../../src/sandbox/rpc.ts'
import { type Collection, digestOf, type NftChain, strangerOf, withNftChain } from '../support/nft-chain.ts'
import { encodeRedeem } from '../support/redeem-call.ts'
import { compileSolidity, contractIn } from '../support/solidity.ts'

const BOTH = ['ERC721', 'ERC1155'] as const
/** The public key of anvil's first account, which owns the collections here. */
const OWNER = new Wallet('0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80')
const BAD_SIGNATURE = 'InvalidVoucherSignature()'
const wallets = compileSolidity('SmartWallet.sol')

const voucherFor = (tokenId: number, given: Partial<Voucher> = {}): Voucher => ({
  tokenId: BigInt(tokenId),
  recipient: null,
  amount: 1n,
  digest: digestOf(tokenId),
  validUntil: null,
  ...given,
})

function sign(chain: NftChain, { address }: Collection, voucher: Voucher, signer: Wallet | HDNodeWallet = OWNER) {
  const { domain, types, message } = voucherTypedData(chain.chainId, address, voucher)
  return signer.signTypedData(domain, types, message)
}

async function redemption(chain: NftChain, collection: Collection, voucher: Voucher, to: string) {
  return { to: collection.address, data: encodeRedeem(voucher, await sign(chain, collection, voucher), to) }
}

const holds = ({ config, read }: Collection, holder: string, id: number): Promise<unknown> =>
  config.standard === 'ERC721' ? read('balanceOf', holder) : read('balanceOf', holder, id)

t.test('the contract hashes a voucher as ethers does, and ethers recovers the owner from what it took', async (t) => {
  const chain = await withNftChain(t)
  for (const standard of BOTH) {
    const collection = await chain.collection({ standard })
    const voucher = voucherFor(3, {
      recipient: chain.alice,
      validUntil: 4_000_000_000,
      amount: standard === 'ERC721' ? 1n : 25n,
    })
    const typed = voucherTypedData(chain.chainId, collection.address, voucher)
    const signature = await sign(chain, collection, voucher)
    t.equal(await collection.read('voucherHash', Object.values(typed.message)), voucherHash(typed))
    t.equal(verifyTypedData(typed.domain, typed.types, typed.message, signature), chain.owner)
    const data = encodeRedeem(voucher, signature, chain.alice)
    t.ok((await chain.send(chain.bob, { to: collection.address, data })).ok, 'another account can redeem the voucher')
    t.equal(await holds(collection, chain.alice, 3), voucher.amount)
    t.equal(await collection.read('tokenDigest', 3), voucher.digest)
    const [fields, name, version, chainId, contract] = (await collection.read('eip712Domain')) as unknown[]
    t.strictSame(
      [fields, name, version, chainId, contract],
      ['0x0f', typed.domain.name, typed.domain.version, BigInt(chain.chainId), collection.address],
    )
  }
})

t.test('a voucher is redeemed once, and its id is used for every other mint', async (t) => {
  const chain = await withNftChain(t)
  for (const standard of BOTH) {
    const collection = await chain.collection({ standard, maxSupply: 2 })
    const call = await redemption(chain, collection, voucherFor(1), chain.alice)
    t.ok((await chain.send(chain.alice, call)).ok)
    t.notOk((await chain.send(chain.alice, call)).ok)
    t.equal(await chain.refusal(chain.alice, call), 'TokenIdUsed(tokenId: 1)')
    const other = await redemption(chain, collection, voucherFor(1, { digest: digestOf(9) }), chain.alice)
    t.equal(await chain.refusal(chain.alice, other), 'TokenIdUsed(tokenId: 1)')
    t.ok((await collection.mint(2, chain.alice)).ok)
    const minted = await redemption(chain, collection, voucherFor(2), chain.alice)
    t.match(await chain.refusal(chain.alice, minted), /^(TokenIdUsed|MaxSupplyExceeded)/)
    const third = await redemption(chain, collection, voucherFor(3), chain.alice)
    t.equal(await chain.refusal(chain.alice, third), 'MaxSupplyExceeded(total: 3, maxSupply: 2)')
  }
})

t.test('a mint by the owner ends the open voucher of its id, also in its own block and after a burn', async (t) => {
  const chain = await withNftChain(t)
  for (const standard of BOTH) {
    const collection = await chain.collection({ standard })
    const voucher = voucherFor(1, { amount: standard === 'ERC721' ? 1n : 25n })
    const thief = await redemption(chain, collection, voucher, chain.bob)
    t.equal(await chain.refusal(chain.bob, thief), null)
    const { recipient: _, ...terms } = voucher
    const mint = encodeMint(standard, voucher.tokenId, { ...terms, recipient: chain.alice })
    await callRpc(chain.url, 'evm_setAutomine', [false])
    const send = (from: string, data: string, tip: number) =>
      callRpc(chain.url, 'eth_sendTransaction', [
        {
          from,
          to: collection.address,
          data,
          gas: '0x50000',
          maxPriorityFeePerGas: toQuantity(tip),
          maxFeePerGas: '0x3b9aca0000',
        },
      ])
    const hashes = [await send(chain.owner, mint, 2_000_000_000), await send(chain.bob, thief.data, 1_000_000_000)]
    await callRpc(chain.url, 'evm_mine')
    await callRpc(chain.url, 'evm_setAutomine', [true])
    const receipts = (await Promise.all(
      hashes.map((hash) => callRpc(chain.url, 'eth_getTransactionReceipt', [hash])),
    )) as Record<string, string>[]
    t.strictSame(
      receipts.map(({ status }) => status),
      ['0x1', '0x0'],
    )
    t.equal(receipts[0]?.blockNumber, receipts[1]?.blockNumber)
    t.equal(await holds(collection, chain.alice, 1), voucher.amount)
    const burn = standard === 'ERC721' ? ['burn', 1] : ['burn', chain.alice, 1, voucher.amount]
    t.ok((await chain.send(chain.alice, collection.request(...(burn as [string, ...unknown[]])))).ok)
    t.equal(await chain.refusal(chain.bob, thief), 'TokenIdUsed(tokenId: 1)')
    t.equal(await chain.refusal(chain.owner, thief), 'TokenIdUsed(tokenId: 1)', 'nor by the owner')
  }
})

t.test('anyone redeems for the named recipient, else the caller for itself, or the owner', async (t) => {
  const chain = await withNftChain(t)
  const collection = await chain.collection()
  const bound = (to: string) => redemption(chain, collection, voucherFor(1, { recipient: chain.alice }), to)
  const open = (to: string) => redemption(chain, collection, voucherFor(2), to)
  const refused = (caller: string, to: string) => `InvalidRedeemer(caller: ${caller}, to: ${to})`
  t.equal(await chain.refusal(chain.bob, await bound(chain.bob)), refused(chain.bob, chain.bob))
  t.equal(await chain.refusal(chain.owner, await bound(chain.bob)), refused(chain.owner, chain.bob))
  t.equal(await chain.refusal(chain.bob, await open(chain.alice)), refused(chain.bob, chain.alice))
  for (const [caller, call] of [
    [chain.bob, await bound(chain.alice)],
    [chain.alice, await bound(chain.alice)],
    [chain.bob, await open(chain.bob)],
    [chain.owner, await open(chain.alice)],
  ] as const) {
    t.equal(await chain.refusal(caller, call), null)
  }
})

t.test('a voucher ends with its last second', async (t) => {
  const chain = await withNftChain(t)
  const collection = await chain.collection()
  const { timestamp } = (await callRpc(chain.url, 'eth_getBlockByNumber', ['latest', false])) as { timestamp: string }
  const last = Number(timestamp) + 1_000
  const call = await redemption(chain, collection, voucherFor(1, { validUntil: last }), chain.alice)
  t.equal(await chain.refusal(chain.alice, call), null)
  await callRpc(chain.url, 'evm_setNextBlockTimestamp', [last + 1])
  t.notOk((await chain.send(chain.alice, call)).ok)
  t.equal(await chain.refusal(chain.alice, call), `VoucherExpired(validUntil: ${last})`)
  const inTime = await redemption(chain, collection, voucherFor(1, { validUntil: last + 500 }), chain.alice)
  await callRpc(chain.url, 'evm_setNextBlockTimestamp', [last + 500])
  t.ok((await chain.send(chain.alice, inTime)).ok)
})

t.test('a revoked id can be neither redeemed nor minted, and only the owner revokes', async (t) => {
  const chain = await withNftChain(t)
  for (const standard of BOTH) {
    const collection = await chain.collection({ standard })
    const call = await redemption(chain, collection, voucherFor(5), chain.alice)
    const revoke = { to: collection.address, data: encodeRevoke(5n) }
    t.equal(await chain.refusal(chain.alice, revoke), `OwnableUnauthorizedAccount(account: ${chain.alice})`)
    const { ok, logs } = await chain.send(chain.owner, revoke)
    t.ok(ok)
    t.strictSame(
      logs.map((log) => collection.abi.parseLog(log)?.args.toArray()),
      [[5n]],
    )
    t.equal(await chain.refusal(chain.alice, call), 'TokenIdRevoked(tokenId: 5)')
    t.notOk((await collection.mint(5, chain.alice)).ok)
    t.equal(await chain.refusal(chain.owner, revoke), 'TokenIdRevoked(tokenId: 5)')
    t.equal(await chain.refusal(chain.owner, collection.request('tokenDigest', 5)), 'TokenNotMinted(tokenId: 5)')
  }
})

t.test('a voucher with a changed field, or for another collection or chain, is refused', async (t) => {
  const chain = await withNftChain(t)
  const [collection, sibling] = [
    await chain.collection({ standard: 'ERC1155' }),
    await chain.collection({ standard: 'ERC1155' }),
  ]
  const voucher = voucherFor(1, { recipient: chain.alice, validUntil: 4_000_000_000 })
  const signature = await sign(chain, collection, voucher)
  const refusal = (given: Partial<Voucher>, by = signature, to = chain.alice) =>
    chain.refusal(chain.alice, { to: collection.address, data: encodeRedeem({ ...voucher, ...given }, by, to) })
  t.equal(await refusal({}), null)
  for (const given of [
    { tokenId: 2n },
    { amount: 2n },
    { digest: digestOf(2) },
    { validUntil: 4_000_000_001 },
    { validUntil: null },
  ]) {
    t.equal(await refusal(given), BAD_SIGNATURE)
  }
  t.equal(await refusal({ recipient: chain.bob }, signature, chain.bob), BAD_SIGNATURE)
  t.equal(await refusal({ recipient: null }), BAD_SIGNATURE)
  t.equal(await refusal({}, await sign(chain, sibling, voucher)), BAD_SIGNATURE)
  t.equal(await refusal({}, await sign({ ...chain, chainId: 1 }, collection, voucher)), BAD_SIGNATURE)
  t.equal(await refusal({}, await sign(chain, collection, voucher, Wallet.createRandom())), BAD_SIGNATURE)
  t.equal(await refusal({}, '0x'), BAD_SIGNATURE)
  t.equal(await refusal({}, highS(signature)), BAD_SIGNATURE, 'the signature with a high s is refused')
})

t.test('units and kinds bind a redemption as they bind a mint', async (t) => {
  const chain = await withNftChain(t)
  const single = await chain.collection()
  const two = await redemption(chain, single, voucherFor(1, { amount: 2n }), chain.alice)
  t.equal(await chain.refusal(chain.alice, two), 'InvalidAmount(amount: 2)')
  const series = await chain.collection({ kind: 'SERIES', transferable: false })
  const [first, second] = [
    await redemption(chain, series, voucherFor(1), chain.alice),
    await redemption(chain, series, voucherFor(2), chain.alice),
  ]
  const redeemed = await chain.send(chain.alice, second)
  t.ok(redeemed.ok)
  t.ok(redeemed.logs.some((log) => series.abi.parseLog(log)?.name === 'Locked'))
  t.strictSame(await series.read('edition', 2), [1n, 0n])
  t.equal(await chain.refusal(chain.alice, first), 'NotInSequence(tokenId: 1, lastTokenId: 2)')
})

t.test('vouchers of a former owner are void, and those of the new one hold', async (t) => {
  const chain = await withNftChain(t)
  const collection = await chain.collection()
  const call = await redemption(chain, collection, voucherFor(1), chain.alice)
  const heir = Wallet.createRandom()
  t.ok((await chain.send(chain.owner, collection.request('transferOwnership', heir.address))).ok)
  t.equal(await chain.refusal(chain.alice, call), BAD_SIGNATURE)
  const signature = await sign(chain, collection, voucherFor(1), heir)
  const data = encodeRedeem(voucherFor(1), signature, chain.alice)
  t.equal(await chain.refusal(chain.alice, { to: collection.address, data }), null)
})

t.test('an owner that is a contract signs by ERC-1271, and a recipient that is one gets its token', async (t) => {
  const chain = await withNftChain(t)
  const { abi, bytecode } = contractIn(wallets, 'SmartWallet')
  const key = Wallet.createRandom()
  const wallet = await chain.deploy(abi, bytecode, [key.address])
  for (const standard of BOTH) {
    const owned = await chain.collection({ standard, owner: wallet })
    const voucher = voucherFor(1, { recipient: strangerOf(4) })
    const by = async (signer: Wallet | HDNodeWallet) => ({
      to: owned.address,
      data: encodeRedeem(voucher, await sign(chain, owned, voucher, signer), strangerOf(4)),
    })
    t.not(await chain.refusal(chain.bob, await by(OWNER)), null)
    t.ok((await chain.send(chain.bob, await by(key))).ok)
    t.equal(await holds(owned, strangerOf(4), 1), 1n)

    const collection = await chain.collection({ standard })
    const bound = await redemption(chain, collection, voucherFor(1, { recipient: wallet }), wallet)
    t.ok((await chain.send(chain.bob, bound)).ok, 'another account can redeem for the recipient')
    const open = await redemption(chain, collection, voucherFor(2), wallet)
    const through = abi.encodeFunctionData('run', [open.to, open.data])
    t.ok((await chain.send(chain.bob, { to: wallet, data: through })).ok, 'the recipient contract redeems its voucher')
    t.equal(await holds(collection, wallet, 2), standard === 'ERC721' ? 2n : 1n)
  }
})

/** Every ECDSA signature has a second form (EIP-2): s mirrored at the order of the curve, the parity flipped. */
function highS(signature: string): string {
  const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
  const s = (order - BigInt(`0x${signature.slice(66, 130)}`)).toString(16).padStart(64, '0')
  return `${signature.slice(0, 66)}${s}${signature.endsWith('1b') ? '1c' : '1b'}`
}
