package import Accounts
internal import Records
package import RequestLog

/// The reason why credentials were refused, with the expected and the received parts side by side.
package struct Diagnosis: Component {
    package static let template = "diagnosis"

    /// One part of the signed message.
    struct Part: ViewModel {
        let name: String
        /// `same`, `differs` or `not known`.
        let verdict: String
        /// The CSS class of the verdict: `same`, `differs`, `unknown`.
        let tone: String
        let isSame: Bool
        let expected: String
        /// The differing part, between the common prefix and suffix.
        let marked: Marked?
        let received: String?
    }

    struct Marked: ViewModel {
        let expected: TextParts
        let received: TextParts
    }

    let sentence: String
    /// `proved`, or else how the reason was inferred.
    let certainty: String?
    let isCertain: Bool
    let remedy: String?
    let parts: [Part]
    /// The message that this server expects to be signed; `nil` if the problem is not the signature.
    package let message: String?

    package init(_ problem: Authentication.Problem, isSignature: Bool) {
        sentence = problem.sentence
        remedy = problem.remedy
        isCertain = problem.isCertain
        parts = Part.all(problem.parts, or: problem.kind, problem.expected, problem.received)
        certainty = isSignature && !problem.parts.isEmpty ? Self.certainty(problem.isCertain) : nil
        message = isSignature ? Self.message(problem.parts) : nil
    }

    package init(_ problem: SignatureProblem) {
        sentence = problem.sentence
        remedy = problem.remedy.isEmpty ? nil : problem.remedy
        isCertain = problem.isCertain
        parts = Part.all(problem.parts, or: problem.kind.rawValue, problem.expected, problem.received)
        certainty = problem.parts.isEmpty ? nil : Self.certainty(problem.isCertain)
        message = Self.message(problem.parts)
    }

    private static func certainty(_ isCertain: Bool) -> String {
        isCertain
            ? "proved: the signature is valid with this part as received"
            : "the likeliest explanation: every other one was ruled out"
    }

    private static func message(_ parts: [SignedPart]) -> String? {
        let names = ["date", "body hash", "target"]
        let found = names.compactMap { name in parts.first { $0.name.utf8.elementsEqual(name.utf8) }?.expected }
        return found.count == names.count ? found.joined(separator: ":") : nil
    }
}

extension String {
    /// The words of a camel-case name: `expiredSession` becomes `expired session`.
    package var uncapped: String {
        unicodeScalars.reduce(into: "") { words, scalar in
            words += scalar.properties.isUppercase ? " \(scalar.properties.lowercaseMapping)" : String(scalar)
        }
    }
}

extension Diagnosis.Part {
    private init(_ part: SignedPart) {
        name = part.name
        expected = part.expected
        received = part.state == .unknown ? nil : part.received
        isSame = part.state == .matches
        if isSame {
            (verdict, tone, marked) = ("same", "same", nil)
        } else if let received {
            (verdict, tone) = ("differs", "differs")
            marked = TextParts.differing(expected, received).map { Diagnosis.Marked(expected: $0.0, received: $0.1) }
        } else {
            (verdict, tone, marked) = ("not known", "unknown", nil)
        }
    }

    /// The parts of the message, or a single one that differs if no message is compared: the key ID, or the date format.
    fileprivate static func all(
        _ parts: [SignedPart], or kind: String, _ expected: String?, _ received: String?
    ) -> [Diagnosis.Part] {
        guard parts.isEmpty else { return parts.map { Diagnosis.Part($0) } }
        guard let expected, !expected.isEmpty else { return [] }
        let received = received.flatMap { $0.isEmpty ? nil : $0 }
        return [
            Diagnosis.Part(
                SignedPart(name: kind.uncapped, expected: expected, received: received, state: .differs))
        ]
    }
}

// MARK: - Differing texts

/// A text split around the part in which it differs from another.
package struct TextParts: ViewModel {
    package let before: String
    package let own: String
    package let after: String

    /// Splits two texts into the common prefix, the differing part, and the common suffix.
    package static func differing(_ left: String, _ right: String) -> (TextParts, TextParts)? {
        let (here, there) = (Array(left.unicodeScalars), Array(right.unicodeScalars))
        var start = 0
        while start < min(here.count, there.count), here[start] == there[start] { start += 1 }
        var end = 0
        while end < min(here.count, there.count) - start, here[here.count - 1 - end] == there[there.count - 1 - end] {
            end += 1
        }
        if start + end == 0 { return nil }
        func parts(_ text: [Unicode.Scalar]) -> TextParts {
            TextParts(
                before: String(text[..<start]), own: String(text[start..<(text.count - end)]),
                after: String(text[(text.count - end)...]))
        }
        return (parts(here), parts(there))
    }
}

extension String {
    fileprivate init(_ scalars: ArraySlice<Unicode.Scalar>) {
        var view = UnicodeScalarView()
        view.append(contentsOf: scalars)
        self.init(view)
    }
}
