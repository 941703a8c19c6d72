internal import Foundation
internal import Records
internal import Text

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
        add(path, "the path without its query", "Sign the query, too: the message ends with path?query exactly as it is sent.", isCommon: true)
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
                add("\(path)?\(parameters.prefix(count).joined(separator: "&"))", "the first \(count) parameters of the query alone")
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
            add(path: "/" + parts.dropFirst(3).joined(separator: "/"), "the path without /database/1", whole, isCommon: true)
            for first in 4..<max(4, parts.count) {
                let rest = parts.dropFirst(first).joined(separator: "/")
                add(path: "/\(rest)", "only the end of the path, /\(rest)", whole)
                add(path: rest, "only the end of the path, \(rest)", whole)
            }
            add(path: "/" + parts.dropFirst(2).joined(separator: "/"), "the path without /database", whole)
        }
        add(path: String(path.unicodeScalars.dropFirst()), "the path without the / before it", whole, isCommon: query == nil)
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
                add(path: replaced(parts, [4: environment, 5: other]), "the path of the \(other) database of '\(environment)'", place)
            }
        }
        if parts[3].hasPrefix("iCloud.") {
            add(path: replaced(parts, [3: String(parts[3].dropFirst(7))]), "the path with the container without 'iCloud.'", place)
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
            if let query { add("\(path)?\(PercentEncoding.encoded(query, keeping: allowed))", "the target with its query percent-encoded") }
        }
        add(target.lowercased(), "the target in small letters")
        for method in ["GET", "POST"] {
            for space in [" ", ""] { add("\(method)\(space)\(target)", "the method before the path", "Sign only the path with its query, without the method.") }
        }
        add("\(target)#", "the target with a # behind it")
    }

    mutating func addKnown(_ known: ArraySlice<String>) {
        for path in known {
            if let query { add("\(path)?\(query)", "the path of another service, \(path)", "Sign the path that the request is sent to.") }
            add(path, "the path of another service, \(path)", "Sign the path that the request is sent to.")
        }
    }

    private static func percentCodes(_ text: String, _ change: (String) -> String) -> String {
        let parts = text.split(separator: "%", omittingEmptySubsequences: false).map(String.init)
        return parts.enumerated().map { $0.offset == 0 ? $0.element : "%" + change(String($0.element.prefix(2))) + $0.element.dropFirst(2) }.joined()
    }
}
