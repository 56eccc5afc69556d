/**
 * Creates self-signed certificates (X.509 v3, RFC 5280) with an Ed25519 key (RFC 8410). They only bind a key to a name:
 * no authority signs them, and trust is in the exact bytes.
 */
import { type KeyObject, randomBytes, sign } from 'node:crypto'
import { AsnConvert, OctetString } from '@peculiar/asn1-schema'
import {
  AlgorithmIdentifier,
  AttributeTypeAndValue,
  AttributeValue,
  BasicConstraints,
  Certificate,
  ExtendedKeyUsage,
  Extension,
  Extensions,
  id_ce_basicConstraints,
  id_ce_extKeyUsage,
  id_ce_keyUsage,
  id_kp_clientAuth,
  id_kp_serverAuth,
  KeyUsage,
  KeyUsageFlags,
  Name,
  RelativeDistinguishedName,
  SubjectPublicKeyInfo,
  TBSCertificate,
  Time,
  Version,
} from '@peculiar/asn1-x509'

const ID_ED25519 = '1.3.101.112'
const ID_COMMON_NAME = '2.5.4.3'
const SERIAL_BYTES = 16
/**
 * The date that RFC 5280 (section 4.1.2.5) defines for a certificate without expiry: it is replaced manually, never
 * because it expired.
 */
const NO_END = new Date('9999-12-31T23:59:59Z')

/**
 * @param name the certificate's common name
 * @param publicKey Ed25519, as is `privateKey`
 * @param notBefore start of validity
 * @returns the certificate in DER
 */
export function makeCertificate({
  name,
  publicKey,
  privateKey,
  notBefore,
}: {
  readonly name: string
  readonly publicKey: KeyObject
  readonly privateKey: KeyObject
  readonly notBefore: Date
}): Uint8Array {
  const algorithm = new AlgorithmIdentifier({ algorithm: ID_ED25519 })
  const holder = new Name([
    new RelativeDistinguishedName([
      new AttributeTypeAndValue({ type: ID_COMMON_NAME, value: new AttributeValue({ utf8String: name }) }),
    ]),
  ])
  const tbsCertificate = new TBSCertificate({
    version: Version.v3,
    serialNumber: serialNumber(),
    signature: algorithm,
    issuer: holder,
    subject: holder,
    subjectPublicKeyInfo: AsnConvert.parse(publicKey.export({ type: 'spki', format: 'der' }), SubjectPublicKeyInfo),
    extensions: extensions(),
  })
  tbsCertificate.validity.notBefore = new Time(notBefore)
  tbsCertificate.validity.notAfter = new Time({ generalTime: NO_END })
  const signed = new Uint8Array(AsnConvert.serialize(tbsCertificate))
  const signatureValue = new Uint8Array(sign(null, signed, privateKey)).buffer
  return new Uint8Array(
    AsnConvert.serialize(new Certificate({ tbsCertificate, signatureAlgorithm: algorithm, signatureValue })),
  )
}

/** Positive, as RFC 5280 requires, and unique. */
function serialNumber(): ArrayBuffer {
  const serial = new Uint8Array(randomBytes(SERIAL_BYTES))
  serial[0] = ((serial[0] ?? 0) & 0x3f) | 0x40
  return serial.buffer
}

/** For TLS handshakes of clients and servers; not for signing other certificates. */
function extensions(): Extensions {
  const critical = (extnID: string, value: object) =>
    new Extension({ extnID, critical: true, extnValue: new OctetString(AsnConvert.serialize(value)) })
  return new Extensions([
    critical(id_ce_basicConstraints, new BasicConstraints({ cA: false })),
    critical(id_ce_keyUsage, new KeyUsage(KeyUsageFlags.digitalSignature)),
    critical(id_ce_extKeyUsage, new ExtendedKeyUsage([id_kp_serverAuth, id_kp_clientAuth])),
  ])
}
