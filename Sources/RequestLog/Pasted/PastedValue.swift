internal import RecordStore
public import Records

/// A pasted text, with its kind and the tokens in it. The pages, the search box and the command line use it to
/// recognize tokens.
public struct PastedValue: Sendable {
    public let text: String
    public let reading: PastedReading
    /// The content of a single value's bytes.
    public let content: PastedBytes.Content?
    /// The kind of a single value; `nil` for JSON, an archive, or an unknown text.
    public let kind: PastedKind?
    /// The tokens in the text. If the whole text is a token, its path is empty.
    public let tokens: [FoundToken]
    /// True if the text is a credential or contains one. Then it must neither be shown again nor be part of an address.
    public let holdsCredential: Bool

    public var isEmpty: Bool { reading == .empty }

    /// True if the tokens are from an archive, the storage format of apps that use CloudKit.framework.
    public var isArchive: Bool {
        if case .propertyList? = content { true } else { false }
    }

    public init(_ text: String) {
        self.text = text
        let pasted = PastedText(text)
        let reading = pasted.reading
        self.reading = reading
        var (content, kind, tokens) = (PastedBytes.Content?.none, PastedKind?.none, [FoundToken]())
        switch reading {
        case .empty: break
        case .unreadable: kind = pasted.kind
        case .json(let found, _): tokens = found
        case .bytes(let bytes):
            content = bytes.content
            switch content {
            case .propertyList(let outline): tokens = outline.tokens
            case .brokenPropertyList: break
            case .text, .opaque, nil:
                kind = bytes.gap == nil ? pasted.kind ?? PastedKind(bytes: bytes.bytes) : nil
                if let kind, kind.isToken || kind.isMarker {
                    tokens = [
                        FoundToken(
                            kind.isToken ? .changeToken : .continuationMarker, path: "",
                            text: TextForm.base64URL.text(of: bytes.bytes), bytes: bytes.bytes)
                    ]
                }
            }
        }
        (self.content, self.kind, self.tokens) = (content, kind, tokens)
        holdsCredential = kind?.credential != nil || Self.holdsCredential(text)
    }

    /// The credential without its wrappers; `nil` for anything else.
    public var credentialText: String? { kind?.credential == nil ? nil : WrappedText(Array(text.utf8)).value }

    /// Names of other credentials, which have no kind of their own, in lower case.
    private static let otherNames: Set = ["x-apple-webauth-token", "authorization", "cookie", "set-cookie"]
    /// The schemes of the header Authorization, in lower case. The credential follows the scheme.
    private static let schemes = ["bearer ", "basic "].map { Array($0.utf8) }
    /// The minimum length of a credential. A shorter text after a credential's name is not a credential.
    private static let credentialLength = 16

    /// True if the text contains a credential after its name, or a private key anywhere.
    private static func holdsCredential(_ text: String) -> Bool {
        if text.contains("PRIVATE KEY-----") { return true }
        let bytes = Array(text.utf8)
        func isWord(_ byte: UInt8) -> Bool {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
        func isBetween(_ byte: UInt8) -> Bool {
            byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") || byte == UInt8(ascii: "\\")
                || byte == UInt8(ascii: " ")
        }
        func isEnd(_ byte: UInt8) -> Bool {
            byte <= 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") || byte == UInt8(ascii: "&")
        }
        for sign in bytes.indices where bytes[sign] == UInt8(ascii: "=") || bytes[sign] == UInt8(ascii: ":") {
            var end = sign
            while end > 0, isBetween(bytes[end - 1]) { end -= 1 }
            var start = end
            while start > 0, end - start < 40, isWord(bytes[start - 1]) { start -= 1 }
            let name = String(decoding: bytes[start..<end], as: UTF8.self).lowercased()
            guard PastedKind.named(name)?.credential != nil || otherNames.contains(name) else { continue }
            var rest = bytes[(sign + 1)...].drop(while: isBetween)
            for scheme in schemes where rest.prefix(scheme.count).map({ $0 | 0x20 }) == scheme {
                rest = rest.dropFirst(scheme.count)
            }
            // The first cookie of a line may be short.
            let isCookies = name.hasSuffix("cookie")
            let values = rest.prefix { isCookies ? $0 != UInt8(ascii: "\n") : !isEnd($0) }.split(whereSeparator: isEnd)
            if values.contains(where: { $0.count >= credentialLength }) { return true }
        }
        return false
    }
}

// MARK: - Kinds

/// The kind of a pasted value, as far as its form shows. Only a store knows whether a token in Skylight's format is its
/// own.
public enum PastedKind: Sendable, Hashable {
    /// A credential, or a text that belongs to one, such as a key ID. Pages do not show it again, and addresses do not
    /// contain it.
    public enum Credential: String, Sendable, Hashable, CaseIterable {
        case webAuthToken, apiToken, keyID, notificationToken, privateKey, publicKey, signature
        /// 64 hexadecimal digits: the form of API tokens, key IDs and notification tokens.
        case digits64
    }

    /// A complete change token of Skylight.
    case changeToken
    /// A change token of Skylight with missing or additional bytes.
    case damagedToken(count: Int, whole: Int)
    /// - Parameter lastRecord: the last record of the page that the marker follows; `nil` for a marker of another
    ///   server.
    case continuationMarker(lastRecord: RecordID?)
    /// A change token of iCloud.
    case iCloudToken
    /// Bytes in an unknown format.
    case unknownToken
    case credential(Credential)
    /// The address of an asset file.
    case assetAddress
    /// The address of a share.
    case shareAddress
    /// Another address, which contains no token.
    case address
    case recordChangeTag

    /// The credential; `nil` for anything else.
    public var credential: Credential? {
        if case .credential(let credential) = self { credential } else { nil }
    }

    /// True if the value may be a change token of any server.
    public var isToken: Bool {
        switch self {
        case .changeToken, .damagedToken, .iCloudToken, .unknownToken: true
        case .continuationMarker, .credential, .assetAddress, .shareAddress, .address, .recordChangeTag: false
        }
    }

    /// True for the continuation marker of a query.
    public var isMarker: Bool { if case .continuationMarker = self { true } else { false } }

    /// True if no other kind has this form.
    public var isCertain: Bool {
        switch self {
        case .unknownToken, .recordChangeTag, .address: false
        default: true
        }
    }
}

// MARK: Recognition

extension PastedKind {
    /// The kinds of values by the names of headers, parameters and members, in lower case. Tokens are recognized by
    /// their bytes instead.
    private static let named: [String: PastedKind] = [
        "ckapitoken": .credential(.apiToken), "ckwebauthtoken": .credential(.webAuthToken),
        "cksession": .credential(.webAuthToken),
        "webauthtoken": .credential(.webAuthToken), "x-apple-cloudkit-web-auth-token": .credential(.webAuthToken),
        "x-apple-cloudkit-session": .credential(.webAuthToken), "apnstoken": .credential(.notificationToken),
        "tok": .credential(.notificationToken), "x-apple-cloudkit-request-keyid": .credential(.keyID),
        "keyid": .credential(.keyID),
        "x-apple-cloudkit-request-signaturev1": .credential(.signature), "recordchangetag": .recordChangeTag,
        "continuationmarker": .continuationMarker(lastRecord: nil),
    ]

    /// - Parameter name: the name that was pasted with the value.
    static func named(_ name: String?) -> PastedKind? { name.flatMap { named[$0.lowercased()] } }

    /// Recognizes the kind of a value without wrappers by its text; `nil` if only its bytes show the kind.
    init?(text: String) {
        let bytes = Array(text.utf8)
        if text.hasPrefix("-----BEGIN") {
            self = .credential(text.prefix(60).contains("PRIVATE") ? .privateKey : .publicKey)
        } else if bytes.count == 64, bytes.allSatisfy({ Hexadecimal.value(of: $0) != nil }) {
            self = .credential(.digits64)
        } else if text.prefix(24).prefixMatch(of: /[0-9]{1,4}__[0-9]{1,4}__/) != nil {
            self = .credential(.webAuthToken)
        } else if text.contains("://") {
            self = .init(address: text)
        } else if (1...13).contains(bytes.count),
            bytes.allSatisfy({ (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) })
        {
            self = .recordChangeTag
        } else {
            return nil
        }
    }

    private init(address: String) {
        let path = address.prefix { $0 != "?" && $0 != "#" }
        if path.contains("icloud-content.com/")
            || path.contains("/assets/") && (path.contains("/download/") || path.contains("/upload/"))
        {
            self = .assetAddress
        } else if path.contains("icloud.com/") && path.contains("/share") || path.contains("/share/") {
            self = .shareAddress
        } else {
            self = .address
        }
    }

    /// Recognizes the kind of bytes. Bytes in an unknown format may be a token of any server.
    public init(bytes: [UInt8]) {
        if let lastRecord = ContinuationMarker.lastRecord(of: bytes) {
            self = .continuationMarker(lastRecord: lastRecord)
        } else if let whole = TokenSeal.wholeLength(ofTokenBeginning: bytes) {
            self = bytes.count == whole ? .changeToken : .damagedToken(count: bytes.count, whole: whole)
        } else if bytes.starts(with: [0x1F, 0x0A]) || (8...16).contains(bytes.count) && bytes.starts(with: [1, 0, 0]) {
            self = .iCloudToken
        } else if bytes.count == 53, bytes[0] == 1 {
            self = .credential(.webAuthToken)
        } else if (66...72).contains(bytes.count), bytes[0] == 0x30, Int(bytes[1]) == bytes.count - 2, bytes[2] == 2 {
            self = .credential(.signature)
        } else if bytes.starts(with: [0x30]), bytes.firstRange(of: Self.curveIdentifier) != nil {
            self = .credential(bytes.starts(with: [0x30, 0x59, 0x30, 0x13]) ? .publicKey : .privateKey)
        } else {
            self = .unknownToken
        }
    }

    /// The beginning of the identifiers of elliptic curves (RFC 5480) in the DER form of keys.
    private static let curveIdentifier: [UInt8] = [0x2A, 0x86, 0x48, 0xCE, 0x3D]
}

// MARK: Words

extension PastedKind {
    /// A description of the kind, as a sentence without a full stop.
    public var title: String {
        switch self {
        case .changeToken: "No store of this server issued this token"
        case .damagedToken(let count, let whole):
            count < whole
                ? "This token is cut short: \(count) of \(whole) bytes"
                : "This token has \(count) bytes, and a whole one has \(whole)"
        case .continuationMarker: "This is a continuationMarker, not a change token"
        case .iCloudToken: "This token is iCloud’s, only iCloud can read it"
        case .unknownToken: "This is not a token of Skylight"
        case .credential(let credential): credential.title
        case .assetAddress: "This is the address of an asset’s file"
        case .shareAddress: "This is the address of a share"
        case .address: "This address has no token in it"
        case .recordChangeTag: "This looks like a recordChangeTag"
        }
    }

    /// Advice on what to do with the value, one sentence per element.
    public var advice: [String] {
        switch self {
        case .changeToken:
            [
                "It has the form of Skylight’s tokens. It is damaged, or from another server or data folder.",
                "Send exactly the token that the server returned. If it is lost, pull without a token.",
            ]
        case .damagedToken(let count, let whole):
            count < whole
                ? [
                    "A terminal, a log or a table may have cut it. Copy the whole token: as Skylight writes it, it has \((whole * 4 + 2) / 3) characters."
                ]
                : ["Something was added, or two tokens were joined. Copy one token alone."]
        case .continuationMarker(let lastRecord):
            (lastRecord.map {
                ["It ends a page of a query, whose last record is ‘\($0.recordName)’ in zone \($0.zoneID.zoneName)."]
            } ?? ["It ends a page of a query."])
                + ["Send it to records/query as continuationMarker, with the same type, filters, sorts and zone."]
        case .iCloudToken: ["It goes back to the zone or database that returned it, unchanged."]
        case .unknownToken: ["If it is iCloud’s, only iCloud can read it."]
        case .credential(let credential): credential.advice
        case .assetAddress: ["It is valid for a limited time. Fetch the record again to get a new one."]
        case .shareAddress: ["Open it, or send its last part to records/accept as shortGUID."]
        case .address: ["A token is in the parameter syncToken, token or since."]
        case .recordChangeTag:
            [
                "It is the version of one record: send it with a save or a deletion. The position in a feed is a syncToken."
            ]
        }
    }
}

extension PastedKind.Credential {
    fileprivate var title: String {
        switch self {
        case .webAuthToken: "This is a web auth token"
        case .apiToken: "This is an API token"
        case .keyID: "This is the ID of a server-to-server key"
        case .notificationToken: "This is a device’s token for notifications"
        case .privateKey: "This is a private key"
        case .publicKey: "This is a public key"
        case .signature: "This is the signature of a request"
        case .digits64: "These are 64 hexadecimal digits, as API tokens, IDs of keys and tokens for notifications have"
        }
    }

    fileprivate var advice: [String] {
        let meaning: [String] =
            switch self {
            case .webAuthToken: ["It signs a user in to one container. Send it as ckWebAuthToken, percent-encoded."]
            case .apiToken: ["It opens one environment of a container. Send it as ckAPIToken."]
            case .keyID: ["It names the key that signs. Send it in X-Apple-CloudKit-Request-KeyID."]
            case .notificationToken:
                [
                    "It takes a user’s notifications. Send it to tokens/register as apnsToken, and to the web courier as tok."
                ]
            case .privateKey: ["It signs requests, and stays with the program that does. Register its public key."]
            case .publicKey: ["Register it as a server-to-server key."]
            case .signature: ["It is good for one request only."]
            case .digits64: []
            }
        return meaning + ["It may be a secret, so it is neither shown nor kept in an address."]
    }
}
