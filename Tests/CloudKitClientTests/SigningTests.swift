import Crypto
import Foundation
import JSON
import Records
import TestSupport
import Testing

@testable import CloudKitClient

/// Signatures of server-to-server keys, checked by code that is not the client's.
@Suite struct SigningTests {
    /// A key that openssl made, in both forms.
    private static let sec1 = """
        -----BEGIN EC PARAMETERS-----
        BggqhkjOPQMBBw==
        -----END EC PARAMETERS-----
        -----BEGIN EC PRIVATE KEY-----
        MHcCAQEEIKVCm2N2wy3PReR72LGnyUAEPk9MrG66ZPWuUde6g+GroAoGCCqGSM49
        AwEHoUQDQgAEUbh8La2m+I77WkBGawvJ2ptHUswayRGRkZbaqXPe6NXh85pwVSdo
        NZ8ZsAxAu/nRFrhr+Q7G+XB3ULyLo0zZcw==
        -----END EC PRIVATE KEY-----

        """

    @Test(arguments: [
        ("", "/database/1/iCloud.a/development/public/users/caller", "2026-11-22T23:00:01Z:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:/database/1/iCloud.a/development/public/users/caller"),
        ("{}", "/x?a=b%20c&d=%2B", "2026-11-22T23:00:01Z:RBNvo1WzZ4oRRq0W9+hknpT7T8If536DEMBg9hyq/4o=:/x?a=b%20c&d=%2B"),
    ])
    func theSignedTextIsDateHashOfTheBodyAndTarget(body: String, target: String, text: String) throws {
        let key = try ServerToServerKey(keyID: "k", pem: Self.sec1)
        let signing = try key.signature(target: target, body: Array(body.utf8), at: Date(timeIntervalSince1970: 1_795_388_401))
        #expect(signing.text.description == text)
        #expect(signing.headers.map(\.name) == [
            "X-Apple-CloudKit-Request-KeyID", "X-Apple-CloudKit-Request-ISO8601Date", "X-Apple-CloudKit-Request-SignatureV1",
        ])
        #expect(signing.headers[0].value == "k" && signing.headers[1].value == "2026-11-22T23:00:01Z")
    }

    @Test func opensslVerifiesASignature() throws {
        let folder = try TemporaryFolder()
        let key = P256.Signing.PrivateKey()
        let signing = try ServerToServerKey(keyID: "k", pem: key.pemRepresentation).signature(target: "/a/b?c=d", body: Array("{}".utf8), at: Date())
        let files = try [
            folder.write(key.publicKey.pemRepresentation, to: "public.pem"), folder.write(signing.text.description, to: "text"), folder.url.appending(path: "signature"),
        ].map { $0.path(percentEncoded: false) }
        try #require(Data(base64Encoded: signing.signature)).write(to: URL(fileURLWithPath: files[2]))
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["openssl", "dgst", "-sha256", "-verify", files[0], "-signature", files[2], files[1]]
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
    }

    @Test func whatArrivesIsWhatWasSigned() async throws {
        let stage = Stage()
        try await ScriptedCloud.run(noZones) { address, cloud in
            try await stage.run(address, as: try stage.serverKey()) { client in
                let database = client.database(.public).observing { stage.observe($0) }
                try await database.read()
                _ = try await database.call("records/any thing", body: object(["a": "é\u{0301}"]), saves: false, parameters: [("getCurrentSyncToken", "a b+c")])
            }
            try #require(cloud.requests.count == 2)
            #expect(cloud.requests[1].target.hasSuffix("/public/records/any%20thing?getCurrentSyncToken=a%20b%2Bc"))
            var texts = stage.events.compactMap { event -> SigningText? in if case .sending(_, let text) = event { text } else { nil } }
            #expect(texts.count == 2)
            for request in cloud.requests {
                let hash = Data(SHA256.hash(data: Data(request.body.utf8))).base64EncodedString()
                let date = try #require(request.headers["x-apple-cloudkit-request-iso8601date"])
                let text = "\(date):\(hash):\(request.target)"
                #expect(texts.removeFirst().description == text)
                let signature = try #require(request.headers["x-apple-cloudkit-request-signaturev1"].flatMap { Data(base64Encoded: $0) })
                #expect(stage.key.publicKey.isValidSignature(try .init(derRepresentation: signature), for: Data(text.utf8)))
                #expect(request.headers["x-apple-cloudkit-request-keyid"] == "key-1")
                #expect(request.parameter("ckAPIToken") == nil)
            }
        }
    }

    @Test func keysAreReadInEveryForm() throws {
        let public1 = try ServerToServerKey(keyID: " k\n", pem: Self.sec1)
        #expect(public1.keyID == "k")
        _ = try ServerToServerKey(keyID: "k", pem: "# a note\n" + TestCertificate.key)
        _ = try ServerToServerKey(keyID: "k", pem: TestCertificate.otherKey.replacing("\n", with: "\r\n"))
    }

    @Test(arguments: [
        ("k", TestCertificate.pem, "no private key"), ("k", "", "no private key"), ("", TestCertificate.key, "key id"),
        ("k", TestCertificate.key.replacing("PRIVATE", with: "ENCRYPTED PRIVATE"), "password"), ("k", TestCertificate.key.replacing("MIGH", with: "MIGI"), "damaged"),
        ("k", P384.Signing.PrivateKey().pemRepresentation, "P-256"), ("k", P256.Signing.PrivateKey().publicKey.pemRepresentation, "public half"),
    ])
    func whatIsNoKeySaysWhy(keyID: String, pem: String, words: String) {
        #expect { try ServerToServerKey(keyID: keyID, pem: pem) } throws: { error in "\(error)".contains(words) && !"\(error)".contains("MIG") }
    }

    @Test func aRefusedSignatureComesWithTheClocks() async throws {
        let stage = Stage()
        let refused = { (date: String) in ScriptedCloud.Reply.error("AUTHENTICATION_FAILED", status: 401, "", ["Date": date]) }
        try await ScriptedCloud.run(refused("Sun, 06 Nov 1994 08:49:37 GMT"), .error("AUTHENTICATION_FAILED", status: 401)) { address, cloud in
            try await stage.run(address, as: try stage.serverKey()) { client in
                let first = await failure { try await client.database(.public).read() }
                #expect(first?.advice?.contains("days ahead of the server's") == true)
                let second = await failure { try await client.database(.public).read() }
                #expect(second?.advice?.contains("signed text") == true && second?.serverError?.code == .authenticationFailed)
            }
            #expect(cloud.requests.count == 2)
        }
    }
}
