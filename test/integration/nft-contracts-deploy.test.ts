/** A collection's contract has the predicted address, the given configuration, and belongs only to its owner. */
import t from 'tap'
import { COLLECTION_ABI, FACTORY_ABI, STEP_FACTORY_ABI } from '../../src/nft/contracts/artefact.ts'
import {
  type CollectionConfig,
  collectionSalt,
  createImplementation,
  deployCollection,
  deployFactory,
  FACTORY_ADDRESS,
  factoryAddress,
  IMPLEMENTATION_ADDRESS,
  MAX_SUPPLY_LIMIT,
  predictCollectionAddress,
  STEP_FACTORY_ADDRESS,
  STEP_IMPLEMENTATION_ADDRESS,
} from '../../src/nft/contracts/collection.ts'
import { ensureFactory } from '../../src/nft/contracts/ensure-factory.ts'
import { callRpc } from '../../src/sandbox/rpc.ts'
import { collectionConfig, digestOf, strangerOf, withNftChain } from '../support/nft-chain.ts'

const BOTH = ['ERC721', 'ERC1155'] as const
const ZERO = `0x${'00'.repeat(20)}`

/** EIP-1167, "Minimal Proxy Contract": the code of a clone. */
const minimalProxy = (implementation: string): string =>
  `0x363d3d373d3d3d363d73${implementation.slice(2).toLowerCase()}5af43d82803e903d91602b57fd5bf3`

t.test('every collection is at its predicted address and has its config', async (t) => {
  const chain = await withNftChain(t)
  const configs: Partial<CollectionConfig>[] = [
    {},
    { name: '', symbol: '', royaltyBps: 0, royaltyRecipient: null },
    { name: 'é'.repeat(127), symbol: '🪙'.repeat(63), baseUri: `https://example.com/${'a'.repeat(300)}/` },
    { kind: 'DYNAMIC', maxSupply: MAX_SUPPLY_LIMIT, contractDigest: digestOf(7), transferable: false },
    { kind: 'SERIES', maxSupply: 1, royaltyBps: 5_000, royaltyRecipient: strangerOf(1), owner: chain.alice },
  ]
  for (const standard of BOTH) {
    for (const given of configs) {
      const { deployment, config, address, read } = await chain.collection({ standard, ...given })
      t.ok(deployment.ok)
      const code = (await callRpc(chain.url, 'eth_getCode', [address, 'latest'])) as string
      t.ok(code.startsWith(minimalProxy(IMPLEMENTATION_ADDRESS[standard])))
      t.equal(await read('name'), config.name)
      t.equal(await read('symbol'), config.symbol)
      t.equal(await read('owner'), config.owner)
      t.equal(await read('maxSupply'), BigInt(config.maxSupply ?? 0))
      t.equal(await read('remainingSupply'), config.maxSupply === null ? 2n ** 256n - 1n : BigInt(config.maxSupply))
      t.equal(await read('transferable'), config.transferable)
      t.equal(await read('kind'), BigInt(['STANDARD', 'SERIES', 'DYNAMIC'].indexOf(config.kind)))
      const royalty = (1_000_000n * BigInt(config.royaltyBps)) / 10_000n
      t.strictSame(await read('royaltyInfo', 1, 1_000_000n), [config.royaltyRecipient ?? ZERO, royalty])
      t.equal((await read('contractURI')) !== '', config.contractDigest !== null)
    }
  }
})

t.test('an address follows from the caller, the salt and the config, and equals that of the factory', async (t) => {
  const chain = await withNftChain(t)
  const config = collectionConfig(chain.owner)
  const salt = collectionSalt('col_a')
  const addresses = [
    predictCollectionAddress(config, salt, chain.owner),
    predictCollectionAddress(config, salt, chain.alice),
    predictCollectionAddress(config, collectionSalt('col_b'), chain.owner),
    predictCollectionAddress({ ...config, royaltyBps: 251 }, salt, chain.owner),
    predictCollectionAddress({ ...config, standard: 'ERC1155' }, salt, chain.owner),
  ]
  t.equal(new Set(addresses).size, addresses.length)
  t.equal(predictCollectionAddress({ ...config, owner: chain.bob }, salt, chain.owner), addresses[0])
  const [standard, , values] = FACTORY_ABI.decodeFunctionData('deploy', deployCollection(config, salt).data)
  t.equal(
    await chain.read(FACTORY_ABI, FACTORY_ADDRESS, 'predict', [chain.alice, standard, salt, values]),
    addresses[1],
  )
  t.equal(await chain.read(FACTORY_ABI, FACTORY_ADDRESS, 'erc721'), IMPLEMENTATION_ADDRESS.ERC721)
  t.equal(await chain.read(FACTORY_ABI, FACTORY_ADDRESS, 'erc1155'), IMPLEMENTATION_ADDRESS.ERC1155)
})

t.test(
  'the same collection cannot be deployed twice, nor the factory; another caller gets another address',
  async (t) => {
    const chain = await withNftChain(t)
    const { config, salt, address } = await chain.collection()
    t.notOk((await chain.send(chain.owner, deployCollection(config, salt))).ok)
    t.notOk((await chain.send(chain.owner, deployFactory())).ok)
    const theirs = await chain.send(chain.bob, deployCollection(config, salt))
    t.ok(theirs.ok)
    const event = FACTORY_ABI.parseLog(theirs.logs.at(-1) ?? { topics: [], data: '0x' })
    t.equal(event?.name, 'CollectionDeployed')
    t.strictSame(event?.args.toArray(), [
      predictCollectionAddress(config, salt, chain.bob),
      chain.owner,
      chain.bob,
      0n,
      salt,
    ])
    t.not(event?.args[0], address)
  },
)

t.test('a factory is deployed by all who need it, in any order, and the later ones change nothing', async (t) => {
  const chain = await withNftChain(t)
  const codeOf = (address: string) => callRpc(chain.url, 'eth_getCode', [address, 'latest'])
  const salts = ['a', 'b', 'c'].map(collectionSalt)
  for (const kind of ['WHOLE', 'STEPS'] as const) {
    const place = factoryAddress(kind)
    const code = kind === 'WHOLE' ? await codeOf(place) : undefined
    if (kind === 'WHOLE') await callRpc(chain.url, 'anvil_setCode', [place, '0x'])
    if (kind === 'WHOLE') await callRpc(chain.url, 'anvil_setNonce', [place, '0x0'])
    for (const address of kind === 'WHOLE' ? Object.values(IMPLEMENTATION_ADDRESS) : []) {
      await callRpc(chain.url, 'anvil_setCode', [address, '0x'])
      await callRpc(chain.url, 'anvil_setNonce', [address, '0x0'])
    }
    const tight = { ...ensureFactory(kind, collectionSalt('tight')), gas: kind === 'WHOLE' ? '0x200000' : '0x50000' }
    t.notOk((await chain.send(chain.bob, tight)).ok, 'with too little gas it fails')
    t.equal(await codeOf(place), '0x')
    for (const salt of salts) t.ok((await chain.send(chain.bob, ensureFactory(kind, salt))).ok)
    t.not(await codeOf(place), '0x')
    if (code !== undefined) t.equal(await codeOf(place), code)
    const copied = ensureFactory(kind, salts[0] ?? '')
    t.ok((await chain.send(chain.alice, copied)).ok, 'as do the bytes of a pending deployment that somebody copied')
    t.ok((await chain.send(chain.bob, copied)).ok)
  }
})

t.test('the factory in steps takes only its own implementations, once, and makes the same collections', async (t) => {
  const chain = await withNftChain(t)
  const config = collectionConfig(chain.owner)
  const salt = collectionSalt('col_steps')
  t.ok((await chain.send(chain.bob, deployFactory('STEPS'))).ok)
  t.equal(
    await chain.refusal(chain.owner, deployCollection(config, salt, 'STEPS')),
    'NoImplementation(standard: 0)',
    'a clone of nothing is refused',
  )
  const foreign = STEP_FACTORY_ABI.encodeFunctionData('createImplementation', [0, '0x6001'])
  t.match(await chain.refusal(chain.alice, { to: STEP_FACTORY_ADDRESS, data: foreign }), /^WrongCode/)
  for (const standard of BOTH) {
    for (const caller of [chain.alice, chain.bob]) t.ok((await chain.send(caller, createImplementation(standard))).ok)
    const code = await callRpc(chain.url, 'eth_getCode', [STEP_IMPLEMENTATION_ADDRESS[standard], 'latest'])
    t.not(code, '0x')
    const own = { ...config, standard }
    t.ok((await chain.send(chain.owner, deployCollection(own, salt, 'STEPS'))).ok)
    const address = predictCollectionAddress(own, salt, chain.owner, 'STEPS')
    const abi = COLLECTION_ABI[standard]
    t.equal(await chain.read(abi, address, 'owner'), chain.owner)
    t.equal(await chain.read(abi, address, 'name'), config.name)
    const data = abi.encodeFunctionData('initialize', [chain.alice])
    t.match(await chain.refusal(chain.alice, { to: address, data }), /^OnlyFactory/)
    t.not(address, predictCollectionAddress(own, salt, chain.owner))
  }
})

t.test('an invalid collection is refused, and nothing is deployed', async (t) => {
  const chain = await withNftChain(t)
  const refusalOf = (given: Partial<CollectionConfig>) => {
    const config = { ...collectionConfig(chain.owner), ...given }
    return chain.refusal(chain.owner, deployCollection(config, collectionSalt('col_bad')))
  }
  t.equal(await refusalOf({ royaltyBps: 5_001 }), 'RoyaltyTooHigh(bps: 5001, max: 5000)')
  t.equal(await refusalOf({ royaltyRecipient: null }), 'RoyaltyWithoutRecipient()')
  t.equal(await refusalOf({ symbol: 'S'.repeat(256) }), `TextTooLong(text: ${'S'.repeat(256)})`)
  t.equal(await refusalOf({ name: 'N'.repeat(256) }), `TextTooLong(text: ${'N'.repeat(256)})`)
  t.equal(await refusalOf({ owner: ZERO }), `OwnableInvalidOwner(owner: ${ZERO})`)
  t.equal(await refusalOf({}), null)
})

t.test('a clone is initialized once, by the factory, and the implementations serve nobody', async (t) => {
  const chain = await withNftChain(t)
  for (const standard of BOTH) {
    const { request, read, abi } = await chain.collection({ standard })
    for (const caller of [chain.owner, chain.alice]) {
      t.equal(await chain.refusal(caller, request('initialize', caller)), `OnlyFactory(caller: ${caller})`)
      t.notOk((await chain.send(caller, request('initialize', caller))).ok)
    }
    t.equal(await read('owner'), chain.owner)
    const implementation = IMPLEMENTATION_ADDRESS[standard]
    t.equal(await chain.read(abi, implementation, 'owner'), FACTORY_ADDRESS)
    for (const [method, values] of [
      ['initialize', [chain.alice]],
      ['transferOwnership', [chain.alice]],
      ['revoke', [1]],
      ['mint', standard === 'ERC721' ? [chain.alice, 1, digestOf(1)] : [chain.alice, 1, 1, digestOf(1)]],
    ] as const) {
      const data = abi.encodeFunctionData(method, values)
      t.match(
        await chain.refusal(chain.alice, { to: implementation, data }),
        /^(OnlyFactory|OwnableUnauthorizedAccount)/,
      )
    }
  }
})

t.test('the owner can transfer the collection, and the former owner has no rights then', async (t) => {
  const chain = await withNftChain(t)
  const { request, read } = await chain.collection()
  const mint = (id: number) => request('mint', chain.bob, id, digestOf(id))
  t.ok((await chain.send(chain.owner, request('transferOwnership', chain.alice))).ok)
  t.equal(await read('owner'), chain.alice)
  t.equal(await chain.refusal(chain.owner, mint(1)), `OwnableUnauthorizedAccount(account: ${chain.owner})`)
  t.ok((await chain.send(chain.alice, mint(1))).ok)
  t.ok((await chain.send(chain.alice, request('renounceOwnership'))).ok)
  t.equal(await chain.refusal(chain.alice, mint(2)), `OwnableUnauthorizedAccount(account: ${chain.alice})`)
})

t.test('two chains have the factory and the same collection at the same addresses', async (t) => {
  const [first, second] = [await withNftChain(t), await withNftChain(t)]
  const addresses = await Promise.all([first, second].map(async (chain) => (await chain.collection()).address))
  t.equal(addresses[0], addresses[1])
  for (const chain of [first, second]) {
    t.not(await callRpc(chain.url, 'eth_getCode', [FACTORY_ADDRESS, 'latest']), '0x')
  }
})
