internal import Crypto
internal import Foundation
internal import Records

/// A mistake of a client: a difference in the signed message, its description and the remedy.
struct SignatureVariation {
    let change: SignedForm.Change
    /// Description of what was signed, to follow 'was signed' or 'with': `the path without its query`.
    let what: String
    let remedy: String
    /// True if it is also tried in combination with other mistakes.
    var isCommon = false
}

extension SignatureVariation {
    // MARK: Dates

    /// Dates that a client may have signed instead of the one in the header.
    static func dates(insteadOf date: String) -> [SignatureVariation] {
        var variations: [SignatureVariation] = []
        func add(_ date: String, _ what: String, _ remedy: String, isCommon: Bool = false) {
            variations.append(SignatureVariation(change: .date(date), what: what, remedy: remedy, isCommon: isCommon))
        }
        let same = "Create the date once, and use the same text in the header and in the message."
        if let moment = RequestSignature.moment(of: date) {
            let bare = String(date.unicodeScalars.dropLast())
            add(
                "\(bare).000Z", "the date with milliseconds", "Sign the date without milliseconds, as in the header.",
                isCommon: true)
            for seconds in [-1, 1, -2, 2, -3, 3] as [Int64] {
                let distance =
                    "\(abs(seconds)) second\(abs(seconds) == 1 ? "" : "s") \(seconds < 0 ? "earlier" : "later")"
                add(
                    RequestSignature.date(of: moment + seconds), "a date \(distance)", same, isCommon: abs(seconds) == 1
                )
            }
            for end in ["+00:00", "+0000", "", "+00", " UTC", "-00:00", ".0Z", ".000000Z"] {
                add(
                    bare + end, "the date with '\(end)' in place of 'Z'", "End the date with Z in the message, too.",
                    isCommon: end == "+00:00")
            }
            add(String(moment), "the date as seconds since 1970", "Sign the text of the header.")
            add(String(moment * 1000), "the date as milliseconds since 1970", "Sign the text of the header.")
            add(date.replacing("T", with: " "), "the date with a space for its T", "Sign the text of the header.")
            add(String(date.prefix(10)), "the day alone", "Sign the text of the header.")
            let compact = date.replacing("-", with: "").replacing(":", with: "")
            add(compact, "the date without - and :", "Sign the text of the header.")
            add("\"\(date)\"", "the date in quotation marks", "Sign the text of the header.")
            for hours in -12...14 as ClosedRange<Int64> where hours != 0 {
                let local = RequestSignature.date(of: moment + hours * 3600)
                add(
                    local, "the date of another time zone, \(abs(hours)) h \(hours < 0 ? "earlier" : "later")",
                    "Use UTC in both places.")
            }
        }
        add("", "no date", "Begin the message with the date of the header.")
        return variations
    }

    // MARK: Earlier requests

    /// Parts of earlier accepted requests, for clients that compose the message too early.
    static func parts(of earlier: [SignatureMemory.Message], insteadOf right: SignedForm) -> [SignatureVariation] {
        let anew = "Create a new message for each request, after its body and path are final."
        return earlier.flatMap { message in
            var variations: [SignatureVariation] = []
            if message.bodyHash != right.bodyHash, !message.bodyHash.isEmpty {
                variations.append(
                    SignatureVariation(
                        change: .bodyHash(message.bodyHash), what: "the hash of an earlier request's body",
                        remedy: anew, isCommon: true))
            }
            if message.target != right.target {
                variations.append(
                    SignatureVariation(
                        change: .target(message.target), what: "the target of an earlier request, \(message.target)",
                        remedy: anew))
            }
            if message.date != right.date {
                variations.append(
                    SignatureVariation(
                        change: .date(message.date), what: "the date of an earlier request", remedy: anew))
            }
            return variations
        }
    }

    // MARK: The message

    static let layouts: [SignatureVariation] = {
        var variations: [SignatureVariation] = []
        func add(_ layout: SignedForm.Layout, _ what: String, _ remedy: String, isCommon: Bool = false) {
            variations.append(
                SignatureVariation(change: .layout(layout), what: what, remedy: remedy, isCommon: isCommon))
        }
        let noEnd = "Sign the message alone: printf '%s' and not echo, and no line end from a file."
        add(.init(end: "\n"), "the message with a line end behind it", noEnd, isCommon: true)
        add(.init(end: "\r\n"), "the message with a line end (CR LF) behind it", noEnd)
        let names = ["date", "body hash", "target"]
        for order in [[0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            add(
                .init(order: order), "the parts in another order: \(order.map { names[$0] }.joined(separator: ", "))",
                "The order is date, body hash, target.", isCommon: order == [0, 2, 1])
        }
        let separators = [
            ("\n", "line ends"), ("", "nothing"), (" ", "spaces"), (",", "commas"), (";", "semicolons"), ("|", "|"),
            (" : ", "' : '"), (": ", "': '"),
            ("::", "two colons"),
        ]
        for (separator, name) in separators {
            add(
                .init(separator: separator), "the parts with \(name) between them",
                "Put one colon between the parts, and nothing else.")
        }
        add(
            .init(end: ":"), "the message with one more colon behind it",
            "Put one colon between the parts, and none after them.")
        add(
            .init(start: ":"), "the message with a colon before it",
            "Put one colon between the parts, and none before them.")
        add(
            .init(start: "\"", end: "\""), "the message in quotation marks", "Sign the message without quotation marks."
        )
        add(.init(start: "'", end: "'"), "the message in quotation marks", "Sign the message without quotation marks.")
        add(.init(end: " "), "the message with a space behind it", "Sign the message alone.")
        add(.init(start: " "), "the message with a space before it", "Sign the message alone.")
        add(
            .init(order: [0, 1]), "a message without the target",
            "The message has three parts: date, body hash, target.")
        add(
            .init(order: [0, 2]), "a message without the body hash",
            "The message has three parts: date, body hash, target.")
        add(
            .init(order: [1, 2]), "a message without the date", "The message has three parts: date, body hash, target.")
        return variations
    }()

    static let digests: [SignatureVariation] = {
        let once = "Pass the message itself to the signing function, which hashes it."
        return [
            SignatureVariation(
                change: .digest(.sha256Twice), what: "the message was hashed before it was signed, and so twice",
                remedy: once, isCommon: true),
            SignatureVariation(
                change: .digest(.hexadecimal), what: "the hexadecimal digits of the message's hash were signed",
                remedy: once, isCommon: true),
            SignatureVariation(
                change: .digest(.base64), what: "the base64 of the message's hash was signed", remedy: once),
            SignatureVariation(
                change: .digest(.sha1), what: "the message was hashed with SHA-1",
                remedy: "Sign with SHA-256: openssl dgst -sha256.", isCommon: true),
            SignatureVariation(
                change: .digest(.sha384), what: "the message was hashed with SHA-384",
                remedy: "Sign with SHA-256: openssl dgst -sha256."),
            SignatureVariation(
                change: .digest(.sha512), what: "the message was hashed with SHA-512",
                remedy: "Sign with SHA-256: openssl dgst -sha256."),
        ]
    }()
}

// MARK: - Forms

/// A way of signing a request: the parts of the message, their layout, and the hash.
struct SignedForm {
    /// The way in which the three parts form a message.
    struct Layout: Hashable {
        /// 0 is the date, 1 the body hash, 2 the target.
        var order = [0, 1, 2]
        var separator = ":"
        var start = ""
        var end = ""
    }

    /// The form of the message that was signed.
    enum Digest: Hashable {
        case sha256, sha1, sha384, sha512, sha256Twice, hexadecimal, base64
    }

    /// One deviation from the correct form.
    enum Change: Hashable {
        case date(String)
        case bodyHash(String)
        case target(String)
        case layout(Layout)
        case digest(Digest)
        /// Another registered key, by index.
        case key(Int)

        var kind: SignatureProblem.Kind {
            switch self {
            case .date: .signedDate
            case .bodyHash: .body
            case .target: .target
            case .layout, .digest: .form
            case .key: .key
            }
        }
    }

    var date: String
    var bodyHash: String
    var target: String
    var layout = Layout()
    var digest = Digest.sha256
    var key: Int?

    func changed(by change: Change) -> SignedForm {
        var form = self
        switch change {
        case .date(let date): form.date = date
        case .bodyHash(let hash): form.bodyHash = hash
        case .target(let target): form.target = target
        case .layout(let layout): form.layout = layout
        case .digest(let digest): form.digest = digest
        case .key(let key): form.key = key
        }
        return form
    }

    var message: String {
        let parts = [date, bodyHash, target]
        return layout.start + layout.order.map { parts[$0] }.joined(separator: layout.separator) + layout.end
    }

    /// True if the signature matches this form.
    func isSigned(_ signature: P256.Signing.ECDSASignature, by key: P256.Signing.PublicKey) -> Bool {
        let message = Array(self.message.utf8)
        return switch digest {
        case .sha256: key.isValidSignature(signature, for: message)
        case .sha1: key.isValidSignature(signature, for: Insecure.SHA1.hash(data: message))
        case .sha384: key.isValidSignature(signature, for: SHA384.hash(data: message))
        case .sha512: key.isValidSignature(signature, for: SHA512.hash(data: message))
        case .sha256Twice: key.isValidSignature(signature, for: Array(SHA256.hash(data: message)))
        case .hexadecimal:
            key.isValidSignature(signature, for: Array(Hexadecimal.text(of: SHA256.hash(data: message)).utf8))
        case .base64:
            key.isValidSignature(signature, for: Array(Data(SHA256.hash(data: message)).base64EncodedString().utf8))
        }
    }
}

// MARK: - Targets

extension SignatureVariation {
    /// Maximum number of other service paths to try.
    private static let knownLimit = 60
    /// Maximum length in bytes of a target that is varied.
    private static let limit = 8192

    /// Targets that a client may have signed instead of the request's path and query.
    /// - Parameters:
    /// - known: paths that it may have meant.
    /// - origin: the origin to which the request was sent.
    static func targets(insteadOf target: String, known: [String], origin: String?) -> [SignatureVariation] {
        guard target.utf8.count <= limit else { return [] }
        var targets = TargetVariations(target)
        targets.addQueries()
        targets.addOrigins(origin)
        targets.addPaths()
        targets.addSpellings()
        targets.addKnown(known.prefix(knownLimit))
        return targets.variations
    }
}

/// Collects variants of the target.
private struct TargetVariations {
    private(set) var variations: [SignatureVariation] = []
    private var seen: Set<[UInt8]>
    private let target: String
    private let path: String
    /// The part after the `?`; `nil` if there is none.
    private let query: String?

    private static let asSent = "Sign the path with its query exactly as in the request's first line."

    init(_ target: String) {
        self.target = target
        let scalars = target.unicodeScalars
        if let mark = scalars.firstIndex(of: "?") {
            path = String(scalars[..<mark])
            query = String(scalars[scalars.index(after: mark)...])
        } else {
            (path, query) = (target, nil)
        }
        seen = [Array(target.utf8)]
    }

    private mutating func add(_ target: String, _ what: String, _ remedy: String = asSent, isCommon: Bool = false) {
        guard seen.insert(Array(target.utf8)).inserted else { return }
        variations.append(SignatureVariation(change: .target(target), what: what, remedy: remedy, isCommon: isCommon))
    }

    /// Adds a path, and also the path with the query if there is one.
    private mutating func add(path: String, _ what: String, _ remedy: String = asSent, isCommon: Bool = false) {
        if let query { add("\(path)?\(query)", what, remedy, isCommon: isCommon) }
        add(path, query == nil ? what : "\(what), without the query", remedy, isCommon: isCommon && query == nil)
    }

    mutating func addQueries() {
        guard let query else {
            add("\(path)?", "the path with a ? behind it")
            return
        }
        add(
            path, "the path without its query",
            "Sign the query, too: the message ends with path?query exactly as it is sent.", isCommon: true)
        let parameters = query.split(separator: "&", omittingEmptySubsequences: false).map(String.init)
        add("\(path)?\(parameters.sorted().joined(separator: "&"))", "the query with its parameters sorted")
        add("\(path)?\(parameters.reversed().joined(separator: "&"))", "the query in another order")
        if parameters.count > 1 {
            for index in parameters.indices.prefix(8) {
                var others = parameters
                let name = others.remove(at: index).prefix { $0 != "=" }
                add("\(path)?\(others.joined(separator: "&"))", "the query without its parameter '\(name.prefix(40))'")
            }
            for count in 2..<max(2, min(parameters.count, 8)) {
                add(
                    "\(path)?\(parameters.prefix(count).joined(separator: "&"))",
                    "the first \(count) parameters of the query alone")
            }
        }
        add("\(path)&\(query)", "the path and the query with & between them")
        add("\(path):\(query)", "the path and the query with a colon between them")
        add("\(path)\(query)", "the path and the query without the ? between them")
    }

    mutating func addOrigins(_ origin: String?) {
        let noHost = "Sign only the path and the query, from /database on, without scheme and host."
        add("https://api.apple-cloudkit.com\(target)", "the whole URL with Apple's host", noHost, isCommon: true)
        add("https://api.apple-cloudkit.com\(path)", "the URL with Apple's host, without the query", noHost)
        add("api.apple-cloudkit.com\(target)", "the path with Apple's host before it", noHost)
        guard let origin else { return }
        add("\(origin)\(target)", "the whole URL", noHost, isCommon: true)
        add("\(origin)\(path)", "the URL without its query", noHost)
        if let slashes = origin.range(of: "://") {
            add("\(origin[slashes.upperBound...])\(target)", "the path with the host before it", noHost)
            let host = origin[slashes.upperBound...].prefix { $0 != ":" }
            add("\(origin[..<slashes.upperBound])\(host)\(target)", "the URL without the port", noHost)
        }
    }

    mutating func addPaths() {
        let whole = "Sign the path from its first / on, /database/1/{container}/{environment}/{database}/… and all."
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        if parts.count > 2, parts[0].isEmpty, parts[1] == "database" {
            add(
                path: "/" + parts.dropFirst(3).joined(separator: "/"), "the path without /database/1", whole,
                isCommon: true)
            for first in 4..<max(4, parts.count) {
                let rest = parts.dropFirst(first).joined(separator: "/")
                add(path: "/\(rest)", "only the end of the path, /\(rest)", whole)
                add(path: rest, "only the end of the path, \(rest)", whole)
            }
            add(path: "/" + parts.dropFirst(2).joined(separator: "/"), "the path without /database", whole)
        }
        add(
            path: String(path.unicodeScalars.dropFirst()), "the path without the / before it", whole,
            isCommon: query == nil)
        if path.hasSuffix("/") {
            add(path: String(path.unicodeScalars.dropLast()), "the path without the / behind it")
        } else {
            add(path: path + "/", "the path with a / behind it")
        }
        add(path: "/" + path, "the path with two slashes before it")
        guard parts.count > 5 else { return }
        let place = "Sign the container, environment and database that the request is sent to."
        let (environment, scope) = (parts[4], parts[5])
        for other in Environment.allCases.map(\.rawValue) where other != environment {
            add(path: replaced(parts, [4: other]), "the path of the environment '\(other)'", place, isCommon: true)
        }
        for other in DatabaseScope.allCases.map(\.rawValue) where other != scope {
            add(path: replaced(parts, [5: other]), "the path of the \(other) database", place, isCommon: true)
            for environment in Environment.allCases.map(\.rawValue) where environment != parts[4] {
                add(
                    path: replaced(parts, [4: environment, 5: other]),
                    "the path of the \(other) database of '\(environment)'", place)
            }
        }
        if parts[3].hasPrefix("iCloud.") {
            add(
                path: replaced(parts, [3: String(parts[3].dropFirst(7))]),
                "the path with the container without 'iCloud.'", place)
        }
        add(path: replaced(parts, [3: parts[3].lowercased()]), "the path with the container in small letters", place)
    }

    private func replaced(_ parts: [String], _ others: [Int: String]) -> String {
        parts.enumerated().map { others[$0.offset] ?? $0.element }.joined(separator: "/")
    }

    mutating func addSpellings() {
        let decoded = PercentEncoding.decoded(target) ?? target
        add(decoded, "the target with its percent-encoding undone", isCommon: true)
        add(decoded.replacing("+", with: " "), "the target with its percent-encoding undone")
        add(target.replacing("%20", with: "+"), "the target with + for %20")
        if let query { add("\(path)?\(query.replacing("+", with: "%20"))", "the query with %20 for +") }
        add(Self.percentCodes(target) { $0.uppercased() }, "the target with capital letters in its percent codes")
        add(Self.percentCodes(target) { $0.lowercased() }, "the target with small letters in its percent codes")
        for allowed in ["-._~/?&=", "-._~/", "-._~"] {
            add(PercentEncoding.encoded(target, keeping: allowed), "the target percent-encoded")
            if let query {
                add(
                    "\(path)?\(PercentEncoding.encoded(query, keeping: allowed))",
                    "the target with its query percent-encoded")
            }
        }
        add(target.lowercased(), "the target in small letters")
        for method in ["GET", "POST"] {
            for space in [" ", ""] {
                add(
                    "\(method)\(space)\(target)", "the method before the path",
                    "Sign only the path with its query, without the method.")
            }
        }
        add("\(target)#", "the target with a # behind it")
    }

    mutating func addKnown(_ known: ArraySlice<String>) {
        for path in known {
            if let query {
                add(
                    "\(path)?\(query)", "the path of another service, \(path)",
                    "Sign the path that the request is sent to.")
            }
            add(path, "the path of another service, \(path)", "Sign the path that the request is sent to.")
        }
    }

    private static func percentCodes(_ text: String, _ change: (String) -> String) -> String {
        let parts = text.split(separator: "%", omittingEmptySubsequences: false).map(String.init)
        return parts.enumerated().map {
            $0.offset == 0 ? $0.element : "%" + change(String($0.element.prefix(2))) + $0.element.dropFirst(2)
        }.joined()
    }
}
