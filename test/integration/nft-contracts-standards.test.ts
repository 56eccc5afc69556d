/** The contracts match OpenZeppelin's interfaces, the ERC-165 procedure and the standards' texts. */
import type { Interface } from 'ethers/abi'
import { id as keccakText } from 'ethers/hash'
import t from 'tap'
import { COLLECTION_ABI } from '../../src/nft/contracts/artefact.ts'
import { digestOf, withNftChain } from '../support/nft-chain.ts'
import { compileSolidity, contractIn } from '../support/solidity.ts'

const compiled = compileSolidity('Standards.sol')
const STANDARDS = contractIn(compiled, 'Standards')

/** From the texts of the ERCs. */
const ERC165 = '0x01ffc9a7'
const ERC721 = '0x80ac58cd'
const ERC721_METADATA = '0x5b5e139f'
const ERC1155 = '0xd9b67a26'
const ERC1155_METADATA = '0x0e89341c'
const ERC2981 = '0x2a55205a'
const ERC4906 = '0x49064906'
const ERC5192 = '0xb45a3c0e'

/** What a contract lacks of an interface: by types, indexed fields, returns and mutability, not by parameter names. */
function missing(contract: Interface, standard: string): string[] {
  const has = new Set(signaturesOf(contract))
  return signaturesOf(contractIn(compiled, standard).abi).filter((signature) => !has.has(signature))
}

function signaturesOf({ fragments }: Interface): string[] {
  return fragments.filter(({ type }) => type !== 'constructor').map((fragment) => fragment.format('minimal'))
}

t.test('every function, event and error of the standards is there', (t) => {
  const shared = ['IERC165', 'IERC2981', 'IERC5267', 'IERC5313']
  for (const [standard, interfaces] of [
    ['ERC721', ['IERC721', 'IERC721Metadata', 'IERC721Errors']],
    ['ERC1155', ['IERC1155', 'IERC1155MetadataURI', 'IERC1155Errors']],
  ] as const) {
    for (const name of [...interfaces, ...shared]) t.strictSame(missing(COLLECTION_ABI[standard], name), [], name)
    const changes = signaturesOf(contractIn(compiled, 'IERC4906').abi).filter((text) => /MetadataUpdate/.test(text))
    t.strictSame(
      changes.filter((text) => !signaturesOf(COLLECTION_ABI[standard]).includes(text)),
      ['event BatchMetadataUpdate(uint256,uint256)'],
      'only BatchMetadataUpdate is missing',
    )
    t.ok(COLLECTION_ABI[standard].getEvent(keccakText('Locked(uint256)')))
    t.equal(
      COLLECTION_ABI[standard].getFunction('contractURI')?.format('full'),
      'function contractURI() view returns (string)',
    )
    t.ok(COLLECTION_ABI[standard].getEvent('ContractURIUpdated'))
  }
  t.end()
})

t.test('each contract reports its interfaces by ERC-165, by the whole procedure', async (t) => {
  const chain = await withNftChain(t)
  const checker = await chain.deploy(STANDARDS.abi, STANDARDS.bytecode)
  const known = [ERC165, ERC721, ERC721_METADATA, ERC1155, ERC1155_METADATA, ERC2981]
  t.strictSame(await chain.read(STANDARDS.abi, checker, 'interfaceIds'), known)
  const asked = [...known, ERC4906, ERC5192, '0xdeadbeef']
  const supported = async (address: string) => {
    const answers = (await chain.read(STANDARDS.abi, checker, 'supported', [address, asked])) as boolean[]
    return asked.filter((_, i) => answers[i])
  }
  const common = [ERC2981, ERC4906]
  for (const [standard, own] of [
    ['ERC721', [ERC165, ERC721, ERC721_METADATA]],
    ['ERC1155', [ERC165, ERC1155, ERC1155_METADATA]],
  ] as const) {
    const free = await chain.collection({ standard })
    const bound = await chain.collection({ standard, transferable: false })
    t.strictSame(await supported(free.address), [...own, ...common])
    t.strictSame(await supported(bound.address), [...own, ...common, ERC5192])
  }
})

t.test('a royalty is its percentage of any price, rounded down (ERC-2981)', async (t) => {
  const chain = await withNftChain(t)
  const { read } = await chain.collection({ royaltyBps: 1_234, royaltyRecipient: chain.bob })
  for (const [price, royalty] of [
    [0n, 0n],
    [8n, 0n],
    [9n, 1n],
    [10_000n, 1_234n],
    [10n ** 30n, 1_234n * 10n ** 26n],
  ] as const) {
    t.strictSame(await read('royaltyInfo', 1, price), [chain.bob, royalty])
  }
})

t.test('the collection announces its own metadata when it is deployed (ERC-7572)', async (t) => {
  const chain = await withNftChain(t)
  const names = async (contractDigest: string | null) => {
    const { deployment, abi, address } = await chain.collection({ contractDigest })
    return deployment.logs.filter((log) => log.address === address.toLowerCase()).map((log) => abi.parseLog(log)?.name)
  }
  t.strictSame(await names(digestOf(1)), ['OwnershipTransferred', 'ContractURIUpdated'])
  t.strictSame(await names(null), ['OwnershipTransferred'])
})
