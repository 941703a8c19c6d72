internal import Foundation
internal import Records

/// A mistake of a client: what it used for one part of what is signed, in words, and the remedy.
struct SignatureVariation {
    let part: SignedForm.Part
    let text: String
    /// Description of what was signed, to follow 'was signed' or 'with': `the path without its query`.
    let what: String
    let remedy: String
    /// True if it is also tried in combination with other mistakes.
    var isCommon = false
}

/// The known mistakes with one part, a line for each. A text that is right or stands there already is not added.
struct SignatureVariations {
    let part: SignedForm.Part
    /// The remedy of the mistakes that are added next.
    var remedy = ""
    private(set) var all: [SignatureVariation] = []
    /// The limit of the work for computing the texts.
    var work: BodyWork
    private var seen: Set<Name>

    init(_ part: SignedForm.Part, insteadOf right: String, work: BodyWork = BodyWork()) {
        self.part = part
        self.work = work
        seen = [Name(right)]
    }

    mutating func add(_ text: String, _ what: String, common: Bool = false) {
        guard seen.insert(Name(text)).inserted else { return }
        all.append(SignatureVariation(part: part, text: text, what: what, remedy: remedy, isCommon: common))
    }

    mutating func add(_ texts: [String], _ what: String) {
        for text in texts { add(text, what) }
    }
}

// MARK: - Targets

extension SignatureVariations {
    /// Maximum number of other service paths to try.
    private static let knownLimit = 60
    /// Maximum length in bytes of a target that is varied.
    private static let targetLimit = 8192

    /// Targets that a client may have signed instead of the request's path and query.
    /// - Parameters:
    /// - known: paths that it may have meant.
    /// - origin: the origin to which the request was sent.
    static func targets(insteadOf target: String, known: [String], origin: String?) -> [SignatureVariation] {
        guard target.utf8.count <= targetLimit else { return [] }
        let halves = target.unicodeScalars.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let (path, query) = (String(halves[0]), halves.count > 1 ? String(halves[1]) : nil)
        var table = SignatureVariations(.target, insteadOf: target)
        table.addQueries(path, query)
        table.addOrigins(origin, target, path)
        table.addPaths(path, query)
        table.addSpellings(target, path, query)
        table.remedy = "Sign the path that the request is sent to."
        for other in known.prefix(knownLimit) {
            let all = (query.map { ["\(other)?\($0)"] } ?? []) + [other]
            table.add(all, "the path of another service, \(other)")
        }
        return table.all
    }

    private static let asSent = "Sign the path with its query exactly as in the request's first line."

    private mutating func addQueries(_ path: String, _ query: String?) {
        remedy = Self.asSent
        guard let query else { return add("\(path)?", "the path with a ? behind it") }
        remedy = "Sign the query, too: the message ends with path?query exactly as it is sent."
        add(path, "the path without its query", common: true)
        remedy = Self.asSent
        let parameters = query.split(separator: "&", omittingEmptySubsequences: false).map(String.init)
        func joined(_ parameters: some Sequence<String>) -> String { "\(path)?\(parameters.joined(separator: "&"))" }
        add(joined(parameters.sorted()), "the query with its parameters sorted")
        add(joined(parameters.reversed()), "the query in another order")
        for (index, parameter) in parameters.enumerated().prefix(8) where parameters.count > 1 {
            let name = parameter.prefix { $0 != "=" }.prefix(40)
            add(joined(parameters[..<index] + parameters[(index + 1)...]), "the query without its parameter '\(name)'")
        }
        for count in 2..<max(2, min(parameters.count, 8)) {
            add(joined(parameters.prefix(count)), "the first \(count) parameters of the query alone")
        }
        add("\(path)&\(query)", "the path and the query with & between them")
        add("\(path):\(query)", "the path and the query with a colon between them")
        add("\(path)\(query)", "the path and the query without the ? between them")
    }

    private mutating func addOrigins(_ origin: String?, _ target: String, _ path: String) {
        remedy = "Sign only the path and the query, from /database on, without scheme and host."
        let apple = "api.apple-cloudkit.com"
        add("https://\(apple)\(target)", "the whole URL with Apple's host", common: true)
        add("https://\(apple)\(path)", "the URL with Apple's host, without the query")
        add("\(apple)\(target)", "the path with Apple's host before it")
        guard let origin else { return }
        add("\(origin)\(target)", "the whole URL", common: true)
        add("\(origin)\(path)", "the URL without its query")
        guard let start = origin.range(of: "://")?.upperBound else { return }
        add("\(origin[start...])\(target)", "the path with the host before it")
        let host = origin[start...].prefix { $0 != ":" }
        add("\(origin[..<start])\(host)\(target)", "the URL without the port")
    }

    private mutating func addPaths(_ path: String, _ query: String?) {
        /// Adds a path, and also the path with the query if there is one.
        func add(_ path: String, _ what: String, common: Bool = false) {
            if let query { self.add("\(path)?\(query)", what, common: common) }
            self.add(path, query == nil ? what : "\(what), without the query", common: common && query == nil)
        }
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        func from(_ first: Int) -> String { parts.dropFirst(first).joined(separator: "/") }
        remedy = "Sign the path from its first / on, /database/1/{container}/{environment}/{database}/… and all."
        if parts.count > 2, parts[0].isEmpty, parts[1] == "database" {
            add("/\(from(3))", "the path without /database/1", common: true)
            for first in 4..<max(4, parts.count) {
                add("/\(from(first))", "only the end of the path, /\(from(first))")
                add(from(first), "only the end of the path, \(from(first))")
            }
            add("/\(from(2))", "the path without /database")
        }
        let scalars = path.unicodeScalars
        add(String(scalars.dropFirst()), "the path without the / before it", common: query == nil)
        remedy = Self.asSent
        if scalars.last == "/" {
            add(String(scalars.dropLast()), "the path without the / behind it")
        } else {
            add("\(path)/", "the path with a / behind it")
        }
        add("/\(path)", "the path with two slashes before it")
        guard parts.count > 5 else { return }
        remedy = "Sign the container, environment and database that the request is sent to."
        func with(_ container: String? = nil, _ environment: String? = nil, _ scope: String? = nil) -> String {
            let place = [container ?? parts[3], environment ?? parts[4], scope ?? parts[5]]
            return (parts[..<3] + place + parts[6...]).joined(separator: "/")
        }
        let environments = Environment.allCases.map(\.rawValue).filter { $0 != parts[4] }
        for other in environments { add(with(nil, other), "the path of the environment '\(other)'", common: true) }
        for scope in DatabaseScope.allCases.map(\.rawValue) where scope != parts[5] {
            add(with(nil, nil, scope), "the path of the \(scope) database", common: true)
            for other in environments {
                add(with(nil, other, scope), "the path of the \(scope) database of '\(other)'")
            }
        }
        if parts[3].hasPrefix("iCloud.") {
            add(with(String(parts[3].dropFirst(7))), "the path with the container without 'iCloud.'")
        }
        add(with(parts[3].lowercased()), "the path with the container in small letters")
    }

    private mutating func addSpellings(_ target: String, _ path: String, _ query: String?) {
        remedy = Self.asSent
        let decoded = PercentEncoding.decoded(target) ?? target
        add(decoded, "the target with its percent-encoding undone", common: true)
        add(decoded.replacing("+", with: " "), "the target with its percent-encoding undone")
        add(target.replacing("%20", with: "+"), "the target with + for %20")
        if let query { add("\(path)?\(query.replacing("+", with: "%20"))", "the query with %20 for +") }
        func codes(_ change: (String) -> String) -> String {
            let parts = target.split(separator: "%", omittingEmptySubsequences: false)
            return ([parts[0]] + parts.dropFirst().map { change(String($0.prefix(2))) + $0.dropFirst(2) })
                .joined(separator: "%")
        }
        add(codes { $0.uppercased() }, "the target with capital letters in its percent codes")
        add(codes { $0.lowercased() }, "the target with small letters in its percent codes")
        for kept in ["-._~/?&=", "-._~/", "-._~"] {
            add(PercentEncoding.encoded(target, keeping: kept), "the target percent-encoded")
            guard let query else { continue }
            add("\(path)?\(PercentEncoding.encoded(query, keeping: kept))", "the target with its query percent-encoded")
        }
        add(target.lowercased(), "the target in small letters")
        remedy = "Sign only the path with its query, without the method."
        add(["GET ", "GET", "POST ", "POST"].map { $0 + target }, "the method before the path")
        remedy = Self.asSent
        add("\(target)#", "the target with a # behind it")
    }
}

// MARK: - Dates

extension SignatureVariations {
    /// Dates that a client may have signed instead of the one in the header.
    static func dates(insteadOf date: String) -> [SignatureVariation] {
        var table = SignatureVariations(.date, insteadOf: date)
        if let moment = RequestSignature.moment(of: date) { table.addDates(date, moment) }
        table.remedy = "Begin the message with the date of the header."
        table.add("", "no date")
        return table.all
    }

    private mutating func addDates(_ date: String, _ moment: Int64) {
        func later(_ seconds: Int64) -> String { RequestSignature.date(of: moment + seconds) }
        func way(_ distance: Int64) -> String { distance < 0 ? "earlier" : "later" }
        let bare = String(date.unicodeScalars.dropLast())
        remedy = "Sign the date without milliseconds, as in the header."
        add("\(bare).000Z", "the date with milliseconds", common: true)
        remedy = "Create the date once, and use the same text in the header and in the message."
        for distance in [-1, 1, -2, 2, -3, 3] as [Int64] {
            let isOne = abs(distance) == 1
            add(later(distance), "a date \(abs(distance)) second\(isOne ? "" : "s") \(way(distance))", common: isOne)
        }
        remedy = "End the date with Z in the message, too."
        for end in ["+00:00", "+0000", "", "+00", " UTC", "-00:00", ".0Z", ".000000Z"] {
            add(bare + end, "the date with '\(end)' in place of 'Z'", common: end == "+00:00")
        }
        remedy = "Sign the text of the header."
        add("\(moment)", "the date as seconds since 1970")
        add("\(moment * 1000)", "the date as milliseconds since 1970")
        add(date.replacing("T", with: " "), "the date with a space for its T")
        add(String(date.prefix(10)), "the day alone")
        add(date.replacing("-", with: "").replacing(":", with: ""), "the date without - and :")
        add("\"\(date)\"", "the date in quotation marks")
        remedy = "Use UTC in both places."
        for hours in -12...14 as ClosedRange<Int64> where hours != 0 {
            add(later(hours * 3600), "the date of another time zone, \(abs(hours)) h \(way(hours))")
        }
    }

    // MARK: Earlier requests

    /// Parts of earlier accepted requests, for clients that compose the message too early.
    static func parts(of earlier: [SignedForm], insteadOf right: SignedForm) -> [SignatureVariation] {
        earlier.flatMap { form in
            let rows: [(SignedForm.Part, String)] = [
                (.bodyHash, "the hash of an earlier request's body"),
                (.target, "the target of an earlier request, \(form[.target])"),
                (.date, "the date of an earlier request"),
            ]
            return rows.filter { form[$0.0] != right[$0.0] && ($0.0 != .bodyHash || !form[.bodyHash].isEmpty) }.map {
                SignatureVariation(
                    part: $0, text: form[$0], what: $1,
                    remedy: "Create a new message for each request, after its body and path are final.",
                    isCommon: $0 == .bodyHash)
            }
        }
    }

    // MARK: The message

    static let layouts: [SignatureVariation] = {
        var table = SignatureVariations(.layout, insteadOf: SignedForm.layout)
        table.remedy = "Sign the message alone: printf '%s' and not echo, and no line end from a file."
        table.add("D:H:T\n", "the message with a line end behind it", common: true)
        table.add("D:H:T\r\n", "the message with a line end (CR LF) behind it")
        table.remedy = "The order is date, body hash, target."
        let names: [Character: String] = ["D": "date", "H": "body hash", "T": "target"]
        for order in ["DTH", "HDT", "HTD", "TDH", "THD"] {
            let what = order.compactMap { names[$0] }.joined(separator: ", ")
            table.add(
                order.map(String.init).joined(separator: ":"), "the parts in another order: \(what)",
                common: order == "DTH")
        }
        table.remedy = "Put one colon between the parts, and nothing else."
        for (text, name) in [
            ("\n", "line ends"), ("", "nothing"), (" ", "spaces"), (",", "commas"), (";", "semicolons"), ("|", "|"),
            (" : ", "' : '"), (": ", "': '"), ("::", "two colons"),
        ] { table.add("D\(text)H\(text)T", "the parts with \(name) between them") }
        table.remedy = "Put one colon between the parts, and none after them."
        table.add("D:H:T:", "the message with one more colon behind it")
        table.remedy = "Put one colon between the parts, and none before them."
        table.add(":D:H:T", "the message with a colon before it")
        table.remedy = "Sign the message without quotation marks."
        table.add(["\"D:H:T\"", "'D:H:T'"], "the message in quotation marks")
        table.remedy = "Sign the message alone."
        table.add("D:H:T ", "the message with a space behind it")
        table.add(" D:H:T", "the message with a space before it")
        table.remedy = "The message has three parts: date, body hash, target."
        table.add("D:H", "a message without the target")
        table.add("D:T", "a message without the body hash")
        table.add("H:T", "a message without the date")
        return table.all
    }()

    static let digests: [SignatureVariation] = {
        var table = SignatureVariations(.digest, insteadOf: SignedForm.digest)
        table.remedy = "Pass the message itself to the signing function, which hashes it."
        table.add("twice", "the message was hashed before it was signed, and so twice", common: true)
        table.add("hexadecimal", "the hexadecimal digits of the message's hash were signed", common: true)
        table.add("base64", "the base64 of the message's hash was signed")
        table.remedy = "Sign with SHA-256: openssl dgst -sha256."
        table.add("SHA-1", "the message was hashed with SHA-1", common: true)
        table.add("SHA-384", "the message was hashed with SHA-384")
        table.add("SHA-512", "the message was hashed with SHA-512")
        return table.all
    }()
}
