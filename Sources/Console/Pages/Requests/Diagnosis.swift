internal import Accounts
internal import Traffic

/// Why credentials were refused: the sentence, and what was expected against what was received, part by part.
struct Diagnosis: ViewModel {
    /// One part of what is signed.
    struct Part: ViewModel {
        let name: String
        /// `same`, `differs` or `not known`.
        let verdict: String
        /// The class of the same: `same`, `differs`, `unknown`.
        let tone: String
        let isSame: Bool
        let expected: String
        /// Where they differ: each as what both begin with, what is its own, and what both end with.
        let marked: Marked?
        let received: String?
    }

    struct Marked: ViewModel {
        let expected: ComparedValue.Parts
        let received: ComparedValue.Parts
    }

    let sentence: String
    /// `proved`, or how the sentence was found instead.
    let certainty: String?
    let isCertain: Bool
    let remedy: String?
    let parts: [Part]
    /// What this server expects to be signed, in one piece; `nil` where it is about something else.
    let message: String?

    init(_ problem: Authentication.Problem, isSignature: Bool) {
        sentence = problem.sentence
        remedy = problem.remedy
        isCertain = problem.isCertain
        let parts = problem.parts.map { Part($0.name, $0.expected, $0.state == .unknown ? nil : $0.received, isSame: $0.state == .matches) }
        self.parts = parts.isEmpty ? Part.only(problem.kind, problem.expected, problem.received) : parts
        certainty = isSignature && !parts.isEmpty ? Self.certainty(problem.isCertain) : nil
        message = isSignature ? Self.message(problem.parts.map { ($0.name, $0.expected) }) : nil
    }

    init(_ problem: SignatureProblem) {
        sentence = problem.sentence
        remedy = problem.remedy.isEmpty ? nil : problem.remedy
        isCertain = problem.isCertain
        let parts = problem.parts.map { Part($0.name, $0.expected, $0.state == .unknown ? nil : $0.received, isSame: $0.state == .matches) }
        self.parts = parts.isEmpty ? Part.only(problem.kind.rawValue, problem.expected, problem.received) : parts
        certainty = parts.isEmpty ? nil : Self.certainty(problem.isCertain)
        message = Self.message(problem.parts.map { ($0.name, $0.expected) })
    }

    private static func certainty(_ isCertain: Bool) -> String {
        isCertain ? "proved: with this part as received the signature verifies" : "the likeliest explanation: all that could be tried was ruled out"
    }

    private static func message(_ parts: [(name: String, expected: String)]) -> String? {
        let names = ["date", "body hash", "target"]
        let found = names.compactMap { name in parts.first { $0.name.utf8.elementsEqual(name.utf8) }?.expected }
        return found.count == names.count ? found.joined(separator: ":") : nil
    }
}

extension String {
    /// A name of several words that are joined, as words: `expiredSession` is `expired session`.
    var uncapped: String {
        unicodeScalars.reduce(into: "") { words, scalar in
            words += scalar.properties.isUppercase ? " \(scalar.properties.lowercaseMapping)" : String(scalar)
        }
    }
}

extension Diagnosis.Part {
    init(_ name: String, _ expected: String, _ received: String?, isSame: Bool) {
        self.name = name
        self.expected = expected
        self.received = received
        self.isSame = isSame
        if isSame {
            (verdict, tone, marked) = ("same", "same", nil)
        } else if let received {
            (verdict, tone) = ("differs", "differs")
            marked = ComparedValue.parts(expected, received).map { Diagnosis.Marked(expected: $0.0, received: $0.1) }
        } else {
            (verdict, tone, marked) = ("not known", "unknown", nil)
        }
    }

    /// Where no message is compared, one thing alone may be: the key ID, the form of the date.
    static func only(_ kind: String, _ expected: String?, _ received: String?) -> [Diagnosis.Part] {
        guard let expected, !expected.isEmpty else { return [] }
        return [Diagnosis.Part(kind.uncapped, expected, received.flatMap { $0.isEmpty ? nil : $0 }, isSame: false)]
    }
}
