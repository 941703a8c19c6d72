internal import HTTPTypes
public import Hummingbird

/// The codings in which a client takes an answer, weighed as it weighs them (RFC 9110, 12.5.3).
public struct AcceptEncoding: Sendable {
    private let weights: [Substring: Double]

    public init(_ request: Request) {
        var weights: [Substring: Double] = [:]
        for coding in request.headers[values: .acceptEncoding].joined(separator: ",").lowercased().split(separator: ",") {
            let parts = coding.split(separator: ";", omittingEmptySubsequences: false).map { $0.filter { $0 != " " && $0 != "\t" }[...] }
            guard let name = parts.first, !name.isEmpty else { continue }
            // Of a coding that is named twice the first counts. x-gzip is the old name of gzip (8.4.1.3).
            let key = name == "x-gzip" ? "gzip" : name
            if weights[key] == nil { weights[key] = Self.weight(parts.dropFirst()) }
        }
        self.weights = weights
    }

    /// How much the client likes a coding, from 0 (not acceptable) to 1.
    ///
    /// Only codings that are named, or meant by `*`, are liked. Identity is acceptable unless it is excluded; where it isn't named it is
    /// liked least of all.
    public func quality(of coding: String) -> Double {
        weights[coding.lowercased()[...]] ?? weights["*"] ?? (coding.lowercased() == "identity" ? Self.leastWeight : 0)
    }

    /// Whether the client takes gzip, and likes it at least as much as the bytes as they are.
    public var prefersGzip: Bool {
        let gzip = quality(of: "gzip")
        // A star speaks for every coding; it takes a name to like identity better.
        return gzip > 0 && gzip >= (weights["identity"] ?? 0)
    }

    /// Whether only gzip will do: the client takes it, and excludes the bytes as they are.
    ///
    /// A client that excludes everything is better served with something than with nothing, so this is `false` then.
    public var forbidsIdentity: Bool { quality(of: "identity") == 0 && quality(of: "gzip") > 0 }

    /// Below every weight that can be written, which has three decimals.
    private static let leastWeight = 0.0001

    /// The weight among the parameters of a coding: 1 where there is none, 0 where it is not a number from 0 to 1.
    private static func weight(_ parameters: ArraySlice<Substring>) -> Double {
        guard let text = parameters.first(where: { $0.hasPrefix("q=") })?.dropFirst(2) else { return 1 }
        guard let weight = Double(text), (0...1).contains(weight) else { return 0 }
        return weight
    }
}
