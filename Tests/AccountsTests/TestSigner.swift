import Crypto
import Foundation
import Records
import Testing
@testable import Accounts

/// A client with a registered key. It signs any message, including wrong ones.
struct TestSigner {
    static let container = ContainerID("iCloud.com.example.Signing")
    static let path = "/database/1/iCloud.com.example.Signing/development/public/records/query"
    static let target = path + "?ckjsBuildVersion=2310ProjectDev27&clientId=a%20b"
    static let body = Array(#"{"query":{"recordType":"City","filterBy":[{"a":1}]},"name":"Köln/Bonn"}"#.utf8)
    static let date = "2026-11-22T12:00:00Z"
    /// The moment of ``date``.
    static let now = Date(timeIntervalSince1970: 1_795_348_800)
    static let knownTargets = ["records/modify", "records/lookup", "zones/list"].map {
        "/database/1/iCloud.com.example.Signing/development/public/\($0)"
    }

    let accounts: Accounts
    let privateKey: P256.Signing.PrivateKey
    let key: ServerKey

    init(_ accounts: Accounts? = nil, privateKey: P256.Signing.PrivateKey = P256.Signing.PrivateKey()) async throws {
        self.accounts = try accounts ?? Accounts(file: nil)
        self.privateKey = privateKey
        key = try await self.accounts.registerServerKey(
            pem: privateKey.publicKey.pemRepresentation, named: "Test", container: try #require(Self.container),
            environment: .development)
    }

    static func message(_ date: String = date, _ body: [UInt8] = body, _ target: String = target) -> String {
        "\(date):\(hash(body)):\(target)"
    }

    static func hash(_ body: [UInt8]) -> String { Data(SHA256.hash(data: body)).base64EncodedString() }

    func signature(_ message: String) throws -> P256.Signing.ECDSASignature {
        try privateKey.signature(for: Array(message.utf8))
    }

    func header(_ message: String) throws -> String {
        try signature(message).derRepresentation.base64EncodedString()
    }

    func request(
        signature: String, date: String = date, body: [UInt8] = body, target: String = target,
        environment: Records.Environment = .development,
        keyID: String? = nil
    ) -> SignedRequest {
        SignedRequest(
            keyID: keyID ?? key.keyID, date: date, signature: signature, body: body, target: target,
            container: key.container,
            environment: environment, origin: "http://localhost:8080")
    }

    private static let start = ContinuousClock.now

    func verdict(_ request: SignedRequest, now: Date = now) -> SignatureVerdict {
        // The monotonic clock advances with the date.
        let moment = Self.start + .seconds(now.timeIntervalSince(Self.now))
        return accounts.verify(request, knownTargets: Self.knownTargets, now: now, at: moment)
    }

    /// The reason why a request is refused.
    func problem(_ request: SignedRequest, now: Date = now) throws -> SignatureProblem {
        guard case .refused(let problem) = verdict(request, now: now) else {
            Issue.record("The signature was accepted")
            throw CancellationError()
        }
        return problem
    }
}
