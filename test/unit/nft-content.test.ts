/** Published metadata: one text for equal metadata, and its IPFS CID. */
import fc from 'fast-check'
import { importBytes } from 'ipfs-unixfs-importer'
import t from 'tap'
import { canonicalCid, cidOf, cidOfDigest, digestOf } from '../../src/nft/metadata/cid.ts'
import { contentOf, contentRows, MAX_CONTENT_BYTES, metadataUri } from '../../src/nft/metadata/content.ts'
import { refusal } from '../support/refusal.ts'

const LIGHTHOUSE = {
  name: 'Lighthouse #1',
  description: 'The first of twelve.\nA line below it.',
  image: 'ipfs://bafkreicysg23kiwv34eg2d7qweipxwosdo2py4ldv42nbauguluen5v6am/1.png',
  attributes: [
    { trait_type: 'Background', value: 'Blue' },
    { trait_type: 'Height', value: '42' },
  ],
}

t.test('content of one block has the CID that others computed for it', async (t) => {
  const vectors: [Uint8Array, string][] = [
    // `echo hello | ipfs add --cid-version 1`, from kubo's test/sharness/t0114-gateway-subdomains/README.md.
    [Buffer.from('hello\n'), 'bafkreicysg23kiwv34eg2d7qweipxwosdo2py4ldv42nbauguluen5v6am'],
    // js-ipfs' test/core/files.spec.js: `ipfs.files.add(Buffer.from([0, 1, 2]), { cidVersion: 1 })`.
    [Uint8Array.of(0, 1, 2), 'zb2rhiNedvrkpYhcrgtpmhKk5UPzcgizgSXaQLYXNY745BmYP'],
    // The raw leaves page of net-ipfs: AddTextAsync("hello world", { RawLeaves = true }).
    [Buffer.from('hello world'), 'zb2rhj7crUKTQYRGCRATFaQ6YFLTde2YzdqbbhAASkL9uRDXn'],
  ]
  for (const [bytes, cid] of vectors) t.equal(cidOf(bytes), canonicalCid(cid))
})

/** The CID by the IPFS project's own importer, with the settings of `ipfs add --cid-version=1`. */
async function imported(bytes: Uint8Array): Promise<string> {
  const blockstore = { put: async (cid: unknown) => cid } as unknown as Parameters<typeof importBytes>[1]
  const { cid } = await importBytes(bytes, blockstore, { cidVersion: 1, rawLeaves: true })
  return cid.toString()
}

t.test(
  "any content up to the limit has the CID that IPFS' own importer gives it; past it, it is no raw block",
  async (t) => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 5_000 }), async (bytes) => cidOf(bytes) === (await imported(bytes))),
    )
    const largest = new Uint8Array(MAX_CONTENT_BYTES).fill(7)
    t.equal(cidOf(largest), await imported(largest))
    const larger = new Uint8Array(MAX_CONTENT_BYTES + 1).fill(7)
    t.not(cidOf(larger), await imported(larger))
  },
)

t.test('a digest and its CID lead to each other', async (t) => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
      const cid = cidOf(bytes)
      return cidOfDigest(digestOf(cid)) === cid && /^0x[0-9a-f]{64}$/.test(digestOf(cid)) && canonicalCid(cid) === cid
    }),
  )
  t.equal(digestOf(cidOf(Buffer.from('hello\n'))), '0x5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03')
  for (const other of [
    'QmZULkCELmmk5XNfCgTnCyFgAVxBRBXyDHGGMVoLFLiXEN',
    'bafybeiffndsajwhk3lwjewwdxqntmjm4b5wxaaanokonsggenkbw6slwk4',
  ])
    t.throws(() => digestOf(other), TypeError, 'a CID of another kind has no digest')
  for (const digest of ['', '0x', '0x12', `0x${'g'.repeat(64)}`, `0x${'0'.repeat(66)}`])
    t.throws(() => cidOfDigest(digest), TypeError)
})

t.test('a CID is read in any encoding, and other text is refused', async (t) => {
  const cid = 'bafkreicysg23kiwv34eg2d7qweipxwosdo2py4ldv42nbauguluen5v6am'
  t.equal(canonicalCid(cid), cid)
  t.equal(
    canonicalCid('QmZULkCELmmk5XNfCgTnCyFgAVxBRBXyDHGGMVoLFLiXEN'),
    'QmZULkCELmmk5XNfCgTnCyFgAVxBRBXyDHGGMVoLFLiXEN',
  )
  for (const text of [
    '',
    'b',
    'x',
    cid.slice(0, -1),
    `${cid}a`,
    cid.replace('a', '1'),
    'Qm',
    '../etc/passwd',
    'bafkrei%00',
  ])
    t.equal(canonicalCid(text), null, text)
})

t.test('equal metadata is one content, whatever the order of its fields', async (t) => {
  const { name, description, image, attributes } = LIGHTHOUSE
  const content = contentOf(LIGHTHOUSE)
  t.strictSame(contentOf({ attributes, image, name, description }), content)
  t.match(content.text, /^\{"attributes":\[\{"trait_type":"Background","value":"Blue"\},/)
  t.strictSame(JSON.parse(content.text), LIGHTHOUSE)
  t.equal(content.cid, cidOf(Buffer.from(content.text, 'utf8')))
  t.equal(cidOfDigest(content.digest), content.cid)
  t.not(contentOf({ ...LIGHTHOUSE, name: 'Lighthouse #2' }).cid, content.cid)
})

t.test('metadata that does not fit into one block is refused by its field', async (t) => {
  const overhead = contentOf({ name: '' }).text.length
  t.doesNotThrow(() => contentOf({ name: 'n'.repeat(MAX_CONTENT_BYTES - overhead) }))
  t.match(
    refusal(() => contentOf({ name: `é${'n'.repeat(MAX_CONTENT_BYTES - overhead - 1)}` }, 'items[3].metadata')),
    { code: 'too_large', field: 'items[3].metadata', message: /has 262145 bytes as JSON, and the limit is 262144/ },
  )
})

t.test('the rows of content keep it readable and make it due to be pinned', async (t) => {
  const { cid, text } = contentOf(LIGHTHOUSE)
  const now = '2026-01-01T00:00:00.000Z'
  t.strictSame(contentRows({ cid, text }, now), [
    { table: 'nft_metadata', row: { cid, content: text } },
    { table: 'nft_pins', row: { cid, pinned_at: null, due_at: now } },
  ])
})

t.test('the address of metadata is on IPFS, or below the base that was set', async (t) => {
  t.equal(metadataUri(null, 'bafkrei1'), 'ipfs://bafkrei1')
  t.equal(metadataUri('https://nft.example/m/', 'bafkrei1'), 'https://nft.example/m/bafkrei1')
})
