/**
 * Signatures over messages and typed data by the running service: ethers verifies them, and invalid requests are
 * refused.
 */
import { verifyMessage, verifyTypedData } from 'ethers'
import type { Test } from 'tap'
import { told } from '../../support/client.ts'
import { AS_LONG_AS_MAY_BE, newAddress, type Sandbox } from '../../support/e2e-sandbox.ts'
import { MAIL } from '../../support/typed-data.ts'

export async function checkSigning(t: Test, sandbox: Sandbox): Promise<void> {
  const client = await sandbox.tenant('signing')
  const { path, address } = await sandbox.wallet(client, 'polygon')
  const message = { message: 'Sign in to example.com\n\nNonce: 7h2k9' }
  const signed = await client.post(`${path}/sign/message`, message, {
    'idempotency-key': 'sign-in',
    ...AS_LONG_AS_MAY_BE,
  })
  t.equal(signed.status, 201, signed.text)
  const { signature, signature_id } = signed.body.data
  t.equal(verifyMessage(message.message, signature), address)
  const again = await client.post(`${path}/sign/message`, message, { 'idempotency-key': 'sign-in' })
  t.strictSame([again.headers['idempotency-replayed'], again.body.data.signature_id], ['true', signature_id])
  t.strictSame((await client.get(`${path}/signatures/${signature_id}`)).body, signed.body)

  const { EIP712Domain: _, ...types } = MAIL.types
  const domain = { ...MAIL.domain, chainId: sandbox.state.networks.polygon.chain_id }
  const letter = { ...MAIL, domain, primaryType: 'Mail' }
  const typed = await client.post(`${path}/sign/typed-data`, letter, AS_LONG_AS_MAY_BE)
  t.equal(typed.status, 201, typed.text)
  t.equal(verifyTypedData(domain, types, MAIL.message, typed.body.data.signature), address)
  t.strictSame(told(await client.post(`${path}/sign/typed-data`, MAIL)), ['domain.chainId chain_id_mismatch'])

  const watch = { address: newAddress(), network: 'polygon', label: 'Watched' }
  const watched = (await client.post('/v1/wallets/watch', watch)).body.data.wallet_id
  const refused = await client.post(`/v1/wallets/${watched}/sign/message`, message)
  t.strictSame([refused.status, ...told(refused)], [422, 'wallet_id watch_only'])
}
