internal import HTTPTypes
public import Hummingbird

/// The content codings that a client accepts, with their weights (RFC 9110, 12.5.3).
public struct AcceptEncoding: Sendable {
    private let weights: [Substring: Double]

    public init(_ request: Request) {
        var weights: [Substring: Double] = [:]
        guard request.headers.contains(.acceptEncoding) else {
            self.weights = weights
            return
        }
        for coding in request.headers[values: .acceptEncoding].joined(separator: ",").lowercased().split(separator: ",") {
            let parts = coding.split(separator: ";", omittingEmptySubsequences: false).map { $0.filter { $0 != " " && $0 != "\t" }[...] }
            guard let name = parts.first, !name.isEmpty else { continue }
            // If a coding occurs twice, the first counts. x-gzip is the old name of gzip (8.4.1.3).
            let key = name == "x-gzip" ? "gzip" : name
            if weights[key] == nil { weights[key] = Self.weight(parts.dropFirst()) }
        }
        self.weights = weights
    }

    /// The client's preference for a coding, from 0 (not acceptable) to 1.
    ///
    /// Codings that are neither named nor covered by `*` are not acceptable. Identity is
    /// acceptable unless it is excluded; if it is not named, it has the lowest preference.
    public func quality(of coding: String) -> Double {
        weights[coding.lowercased()[...]] ?? weights["*"] ?? (coding.lowercased() == "identity" ? Self.leastWeight : 0)
    }

    /// True if the client accepts gzip and prefers it at least as much as identity.
    ///
    /// For files with ranges, ``RequestedForm`` decides.
    public var prefersGzip: Bool {
        let gzip = quality(of: "gzip")
        // A star covers every coding, so only a named identity can be preferred to gzip.
        return gzip > 0 && gzip >= (weights["identity"] ?? 0)
    }

    /// True if the client accepts gzip and excludes identity.
    ///
    /// It is false if the client excludes everything: such a client gets an answer without a coding.
    public var forbidsIdentity: Bool { quality(of: "identity") == 0 && quality(of: "gzip") > 0 }

    /// Less than the smallest weight in a header, which has three decimals.
    private static let leastWeight = 0.0001

    /// The weight among the parameters of a coding: 1 if absent, 0 if it is not a number from 0 to 1.
    private static func weight(_ parameters: ArraySlice<Substring>) -> Double {
        guard let text = parameters.first(where: { $0.hasPrefix("q=") })?.dropFirst(2) else { return 1 }
        guard let weight = Double(text), (0...1).contains(weight) else { return 0 }
        return weight
    }
}
