import RecordStore
import Records
import RequestLog
import Testing

/// One recogniser for the page Decode, the search box and the command line.
@Suite struct PastedValueTests {
    private static let seal = TokenSeal(key: Array(repeating: 7, count: 32))

    private static func token(_ progress: TokenContent.Progress = .complete) -> ChangeToken {
        seal.seal(
            TokenContent(
                scope: .shared, databaseNumber: 646_792_468, subject: .zone(12), position: 1_458, progress: progress,
                epoch: 2_111_139_891, moment: Timestamp(milliseconds: 1_780_000_000_000)))
    }

    private static let digits = String(repeating: "0a1B", count: 16)

    @Test(arguments: [
        "%", "\"%\"", "'%'", "“%”", "`%`", "%,", "\"%\",\n", "Optional(\"%\")", "Optional(Optional(\"%\"))",
        "Data(base64Encoded: \"%\")!", "let token = \"%\";",
        "syncToken: %", "syncToken=%", "  \"syncToken\": \"%\",", "-H 'syncToken: %'", "{\"syncToken\": \"%\"}",
        "{\"zones\":[{\"syncToken\":\"%\"}]}", "\\\"%\\\"",
        "https://api.example.com/database/1/c/development/private/changes/zone?ckAPIToken=k&syncToken=%&x=1",
        "curl 'http://127.0.0.1:8080/c?since=%'",
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nsyncToken: %\r\n", "<CKServerChangeToken: 0x600000; data=%>",
        "/c/X/development/private/token?token=%#top",
    ])
    func wrappersAreTakenOff(wrapper: String) {
        for token in [Self.token(), Self.token(.reversePull(began: 9, since: 2))] {
            let lines = token.text.prefix(20) + "\n  " + token.text.dropFirst(20)
            var texts = [
                token.text, TextForm.base64.text(of: token.bytes), TextForm.percentEncoded.text(of: token.bytes),
            ]
            if wrapper == "%" || wrapper == "'%'" {
                texts += [String(lines), TextForm.hex.text(of: token.bytes), TextForm.lengthDump.text(of: token.bytes)]
            }
            for text in texts {
                let value = PastedValue(wrapper.replacing("%", with: text))
                #expect(value.tokens.compactMap(\.token) == [token], "\(wrapper)")
                #expect(value.kind == nil || value.kind == .changeToken, "\(wrapper)")
            }
        }
    }

    @Test(arguments: [
        TokenContent.Progress.complete, .firstPull(began: 9), .pull(since: 4), .reversePull(began: 9, since: 2),
    ])
    func aCutTokenSaysHowManyBytesItHas(progress: TokenContent.Progress) {
        let token = Self.token(progress)
        let whole = token.bytes.count
        for length in 11..<token.text.utf8.count {
            let kind = PastedValue(String(token.text.prefix(length))).kind
            #expect(kind == .damagedToken(count: length * 6 / 8, whole: whole), "\(length) characters")
        }
        #expect(PastedValue(Self.token().text + Self.token().text).kind == .damagedToken(count: 72, whole: 36))
    }

    @Test func markersTokensOfICloudAndTheRestAreNamed() {
        let marker = TextForm.base64URL.text(of: Array(#"{"q":"x1","v":[],"n":"m7","z":{"zoneName":"Chats"}}"#.utf8))
        #expect(
            PastedValue(marker).kind
                == .continuationMarker(lastRecord: RecordID(recordName: "m7", zoneID: ZoneID(zoneName: "Chats"))))
        #expect(PastedValue(marker).tokens.map(\.token) == [nil])
        #expect(PastedValue("continuationMarker: SQxAgkBB").kind == .continuationMarker(lastRecord: nil))
        for text in ["HwoECJGaGRgAIhYIBBESExQVFhcYGRAaGxwdHh8gISIBKAA=", "AQAAAWCp6AGu/w=="] {
            #expect(PastedValue(text).kind == .iCloudToken)
        }
        #expect(PastedValue("wAAbCdEfGhIj").kind == .unknownToken)
        for (text, kind) in [
            ("https://cvws.icloud-content.com/B/AbC/photo.jpg?o=1", PastedKind.assetAddress),
            ("http://127.0.0.1:1/assets/iCloud.a.b/development/download/t/x.txt", .assetAddress),
            ("https://www.icloud.com/share/0ABC#Notes", .shareAddress), ("https://example.com/x", .address),
            ("k3xz9a", .recordChangeTag),
        ] { #expect(PastedValue(text).kind == kind, "\(text)") }
        #expect(PastedValue("<p>").kind == nil && PastedValue("{}").kind == nil && PastedValue(" ").kind == nil)
    }

    @Test(arguments: [
        (digits, PastedKind.Credential.digits64), ("ckAPIToken=\(digits)", .apiToken),
        ("https://x.example/?ckAPIToken=\(digits)", .apiToken),
        ("X-Apple-CloudKit-Request-KeyID: \(digits)", .keyID), ("apnsToken: \(digits)", .notificationToken),
        ("<00112233 44556677 8899aabb ccddeeff 00112233 44556677 8899aabb ccddeeff>", .notificationToken),
        ("http://127.0.0.1:8080/aps?tok=\(digits)&ttl=43200", .notificationToken),
        ("54__54__AQIDBAUGBwgJ", .webAuthToken),
        (TextForm.base64.text(of: [1] + Array(repeating: 9, count: 52)), .webAuthToken),
        ("-----BEGIN EC PRIVATE KEY-----\nMHcCAQEE\n-----END EC PRIVATE KEY-----", .privateKey),
        ("-----BEGIN PUBLIC KEY-----\nMFkw\n-----END PUBLIC KEY-----", .publicKey),
        (TextForm.base64.text(of: [0x30, 0x44, 2] + Array(repeating: 9, count: 67)), .signature),
    ])
    func credentialsAreNamedAndMarked(text: String, credential: PastedKind.Credential) {
        let value = PastedValue(text)
        #expect(value.kind == .credential(credential) && value.holdsCredential && value.tokens.isEmpty)
        let words = ([value.kind?.title ?? ""] + (value.kind?.advice ?? [])).joined()
        #expect(!words.contains(Self.digits) && !words.contains("AQIDBAUGBwgJ"))
    }

    @Test(arguments: [
        ("curl 'http://x/?ckWebAuthToken=54__54__AQIDBAUGBwgJ' -d '{\"syncToken\":\"AQIDBAUG\"}'", true),
        ("{\"apnsToken\":\"\(digits)\"}", true),
        ("curl -H 'Authorization: Bearer 0123456789abcdef0123' http://x/", true),
        ("Cookie: a=1; session=0123456789abcdef0123", true),
        ("HTTP/1.1 200 OK\nX-Apple-CloudKit-Web-Auth-Token: 0123456789abcdef0123", true),
        ("x-apple-cloudkit-session: 0123456789abcdef0123", true),
        ("a log\nCookie: X-APPLE-WEBAUTH-TOKEN=\"v=2:t=AAAAAAAAAAAAAAAA\"", true),
        ("CKError 9: ckAPIToken is missing", false),
        ("Authorization: Bearer short", false), ("{\"syncToken\":\"AQIDBAUG\"}", false),
    ])
    func credentialsWithinATextAreFound(text: String, holds: Bool) {
        #expect(PastedValue(text).holdsCredential == holds)
    }
}
