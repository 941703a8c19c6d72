import Crypto
import Foundation
import LoopbackServing
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
        (
            "", "/database/1/iCloud.a/development/public/users/caller",
            "2026-11-22T23:00:01Z:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:/database/1/iCloud.a/development/public/users/caller"
        ),
        (
            "{}", "/x?a=b%20c&d=%2B",
            "2026-11-22T23:00:01Z:RBNvo1WzZ4oRRq0W9+hknpT7T8If536DEMBg9hyq/4o=:/x?a=b%20c&d=%2B"
        ),
    ])
    func theSignedTextIsDateHashOfTheBodyAndTarget(body: String, target: String, text: String) throws {
        let key = try ServerToServerKey(keyID: "k", pem: Self.sec1)
        let signing = try key.sign(
            target: target, body: Array(body.utf8), at: Timestamp(milliseconds: 1_795_388_401_999))
        #expect(signing.text.description == text)
        #expect(
            signing.headers.map(\.name) == [
                "X-Apple-CloudKit-Request-KeyID", "X-Apple-CloudKit-Request-ISO8601Date",
                "X-Apple-CloudKit-Request-SignatureV1",
            ])
        #expect(signing.headers[0].value == "k" && signing.headers[1].value == "2026-11-22T23:00:01Z")
    }

    /// Signatures as they arrive, over the bytes that arrive.
    @Test func opensslVerifiesWhatArrives() async throws {
        let stage = Stage()
        let folder = try TemporaryFolder()
        let publicKey = try folder.write(stage.key.publicKey.pemRepresentation, to: "public.pem").path(
            percentEncoded: false)
        try await ScriptedServer.run(noZones) { address, server in
            try await stage.run(address, as: try stage.serverKey()) { client in
                let database = client.database(.public).observing { stage.observe($0) }
                try await database.read()
                _ = try await database.call(
                    "records/any thing", body: object(["a": "é\u{0301}"]), saves: false,
                    parameters: [("getCurrentSyncToken", "a b+c")])
            }
            try #require(server.requests.count == 2)
            #expect(server.requests[1].target.hasSuffix("/public/records/any%20thing?getCurrentSyncToken=a%20b%2Bc"))
            let shown = stage.events.compactMap { event in
                if case .sending(_, let text?) = event { "\(text)" } else { nil }
            }
            for (index, request) in server.requests.enumerated() {
                let hash = try openssl(
                    "dgst", "-sha256", "-binary", folder.write(request.body, to: "body").path(percentEncoded: false)
                ).base64EncodedString()
                let text =
                    "\(try #require(request.headers["x-apple-cloudkit-request-iso8601date"])):\(hash):\(request.target)"
                #expect(shown.count == 2 && shown[index] == text)
                let signature = try #require(
                    request.headers["x-apple-cloudkit-request-signaturev1"].flatMap { Data(base64Encoded: $0) })
                let file = folder.url.appending(path: "signature")
                try signature.write(to: file)
                let answer = try openssl(
                    "dgst", "-sha256", "-verify", publicKey, "-signature", file.path(percentEncoded: false),
                    folder.write(text, to: "text").path(percentEncoded: false))
                #expect(String(decoding: answer, as: UTF8.self).contains("Verified OK"))
                #expect(
                    request.headers["x-apple-cloudkit-request-keyid"] == "key-1"
                        && request.parameter("ckAPIToken") == nil)
            }
        }
    }

    /// The standard output of openssl.
    private func openssl(_ arguments: String...) throws -> Data {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["openssl"] + arguments
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        let data = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return data
    }

    @Test func keysAreReadInEveryForm() throws {
        let public1 = try ServerToServerKey(keyID: " k\n", pem: Self.sec1)
        #expect(public1.keyID == "k")
        _ = try ServerToServerKey(keyID: "k", pem: "# a note\n" + TestCertificate.key)
        _ = try ServerToServerKey(keyID: "k", pem: TestCertificate.otherKey.replacing("\n", with: "\r\n"))
    }

    @Test(arguments: [
        ("k", TestCertificate.pem, "no private key"), ("k", "", "no private key"), ("", TestCertificate.key, "key id"),
        ("k", TestCertificate.key.replacing("PRIVATE", with: "ENCRYPTED PRIVATE"), "password"),
        ("k", TestCertificate.key.replacing("MIGH", with: "MIGI"), "damaged"),
        ("k", P384.Signing.PrivateKey().pemRepresentation, "P-256"),
        ("k", P256.Signing.PrivateKey().publicKey.pemRepresentation, "public half"),
    ])
    func whatIsNoKeySaysWhy(keyID: String, pem: String, words: String) {
        #expect { try ServerToServerKey(keyID: keyID, pem: pem) } throws: { error in
            "\(error)".contains(words) && !"\(error)".contains("MIG")
        }
    }

    @Test func aRefusedSignatureComesWithItsTextAndTheClocks() async throws {
        // A minute before the server's date, which is a year ago, or none.
        let stage = Stage(day: Timestamp(milliseconds: 784_111_717_000))
        let refused = { (date: String) in
            ScriptedServer.Reply.error("AUTHENTICATION_FAILED", status: 401, "", ["Date": date])
        }
        let replies = [
            refused("Sun, 06 Nov 1994 08:49:37 GMT"), refused("Sun, 06 Nov 1994 10:49:37 GMT"),
            refused("Sat, 06 Nov 1993 08:49:37 GMT"),
            .error("AUTHENTICATION_FAILED", status: 401), .error("ACCESS_DENIED", status: 403),
        ]
        try await ScriptedServer.run({ _, number in replies[number] }) { address, server in
            try await stage.run(address, as: try stage.serverKey()) { client in
                for words in [
                    "signed text", "2 hours behind the server's", "364 days ahead of the server's", "signed text", nil,
                ] {
                    let failed = await failure { try await client.database(.public).read() }
                    let request = try #require(server.requests.last)
                    let text = "1994-11-06T08:48:37Z:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:\(request.target)"
                    #expect(
                        failed?.signed?.description == (words == nil ? nil : text)
                            && failed?.description.contains(text) == (words != nil))
                    #expect(
                        words.map { failed?.advice?.contains($0) == true } ?? (failed?.advice == nil),
                        "\(failed?.advice ?? "no advice")")
                }
            }
            #expect(server.requests.count == replies.count)
        }
    }
}
