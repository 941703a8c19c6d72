internal import Crypto
internal import Foundation
internal import Records

/// A way of signing a request: what is used for each part of it.
struct SignedForm: Sendable, Hashable {
    /// A part of a signed request. A client can make a mistake in each.
    enum Part: Int, Sendable, CaseIterable {
        case date, bodyHash, target
        /// The message, with D, H and T for the three parts above.
        case layout
        /// How the client hashes the message before it signs it, a key of ``SignedForm/digests``.
        case digest
        /// The ID of a key.
        case key

        /// The name for developers, the kind of the problem if only this part differs, and its sentence.
        fileprivate var words: (name: String, kind: SignatureProblem.Kind, sentence: (String) -> String) {
            switch self {
            case .date: ("date", .signedDate, { "The date differs: \($0) was signed, and the header has another." })
            case .bodyHash: ("body hash", .body, { "The body hash differs: \($0) was signed." })
            case .target: ("target", .target, { "The target differs: \($0) was signed." })
            case .layout:
                ("message", .form, { "The parts are correct, but the message is assembled differently: \($0)." })
            case .digest: ("signed", .form, { "The message is correct, but \($0)." })
            case .key: ("key", .key, { "Another key signed the request: \($0)." })
            }
        }
    }

    static let (layout, digest) = ("D:H:T", "SHA-256 of the message")
    private static let digests:
        [String: @Sendable (P256.Signing.PublicKey, P256.Signing.ECDSASignature, [UInt8]) -> Bool] = [
            digest: { $0.isValidSignature($1, for: $2) },
            "SHA-1": { $0.isValidSignature($1, for: Insecure.SHA1.hash(data: $2)) },
            "SHA-384": { $0.isValidSignature($1, for: SHA384.hash(data: $2)) },
            "SHA-512": { $0.isValidSignature($1, for: SHA512.hash(data: $2)) },
            "twice": { $0.isValidSignature($1, for: Array(SHA256.hash(data: $2))) },
            "hexadecimal": { $0.isValidSignature($1, for: Array(Hexadecimal.text(of: SHA256.hash(data: $2)).utf8)) },
            "base64": { $0.isValidSignature($1, for: Array(RequestSignature.bodyHash($2).utf8)) },
        ]

    private var texts: [String]

    init(date: String, bodyHash: String, target: String, key: String) {
        texts = [date, bodyHash, target, Self.layout, Self.digest, key]
    }

    subscript(part: Part) -> String {
        get { texts[part.rawValue] }
        set { texts[part.rawValue] = newValue }
    }

    func changed(by variations: [SignatureVariation]) -> SignedForm {
        variations.reduce(into: self) { $0[$1.part] = $1.text }
    }

    var message: String {
        self[.layout].reduce(into: "") { message, character in
            switch character {
            case "D": message += self[.date]
            case "H": message += self[.bodyHash]
            case "T": message += self[.target]
            default: message.append(character)
            }
        }
    }

    /// True if the signature matches this form.
    func isSigned(_ signature: P256.Signing.ECDSASignature, by keys: [String: P256.Signing.PublicKey]) -> Bool {
        guard let key = keys[self[.key]], let isSigned = Self.digests[self[.digest]] else { return false }
        return isSigned(key, signature, Array(message.utf8))
    }
}

// MARK: - Diagnosis

/// Diagnoses an invalid signature: compares it with signatures accepted before, then tries common mistakes of
/// clients, one at a time and then in pairs. A variant that verifies is proof; otherwise the remaining possibilities
/// are reported. The work is limited by the number of verifications, by ``BodyWork`` for other bodies, and by the
/// length of the targets tried.
struct SignatureDiagnosis {
    /// Maximum number of verifications per diagnosis. Each takes about 60 µs.
    static let limit = 600
    /// Maximum number of other keys to try.
    static let otherKeyLimit = 16

    typealias OtherKey = (key: ServerKey, publicKey: P256.Signing.PublicKey)

    private let request: SignedRequest
    private let key: ServerKey
    private let publicKey: P256.Signing.PublicKey
    private let knownTargets: [String]
    /// The problem with the date, whether or not the signature is valid.
    private let problemOfDate: SignatureProblem?
    private let text: SignatureText
    /// The form that should have been signed.
    private let right: SignedForm
    /// The form that was signed; `nil` if the signature is invalid.
    let signed: SignedForm?

    init(
        _ request: SignedRequest, of key: ServerKey, _ publicKey: P256.Signing.PublicKey, knownTargets: [String],
        now: Date
    ) {
        self.request = request
        self.key = key
        self.publicKey = publicKey
        self.knownTargets = knownTargets
        problemOfDate = .ofDate(request.date, now: now)
        let text = SignatureText(request.signature)
        self.text = text
        var form = SignedForm(
            date: request.date, bodyHash: RequestSignature.bodyHash(request.body), target: request.target,
            key: key.keyID)
        right = form
        // For a request without a body, clients sign the hash of zero bytes or an empty string. CloudKit accepts both.
        var forms = [form]
        form[.bodyHash] = ""
        if request.body.isEmpty { forms.append(form) }
        signed = text.signature.flatMap { signature in
            forms.first { $0.isSigned(signature, by: [key.keyID: publicKey]) }
        }
    }

    /// The signature, if it is encoded correctly.
    var signature: P256.Signing.ECDSASignature? { text.signature }

    /// The problem if only the date is wrong; `nil` if the date is correct.
    var problemOfDateAlone: SignatureProblem? {
        guard var problem = problemOfDate?.adding("The signature itself is correct.") else { return nil }
        problem.parts = parts(of: right)
        problem.parts[0] = SignedPart("date", expected: problem.expected, received: request.date)
        return problem
    }

    /// The problem of an invalid signature.
    /// - Parameters:
    /// - remembered: the form for which the same signature was accepted before.
    /// - otherKeys: other keys that may have made the signature.
    /// - earlier: forms of the key's requests that were accepted recently.
    /// - mayTry: returns `true` if trials, which take some milliseconds, are allowed. Called only if they are needed.
    func problem(
        remembered: SignedForm?, otherKeys: [OtherKey], earlier: [SignedForm], mayTry: () -> Bool
    ) -> SignatureProblem {
        let problem = signatureProblem(remembered, otherKeys, earlier, mayTry)
        guard let date = problemOfDate else { return problem }
        // A rejected date is certain, whereas other problems may be guesses.
        return problem.isCertain
            ? problem.adding("Also: \(date.sentence)") : date.adding("The signature also matches no expected message.")
    }

    private func signatureProblem(
        _ remembered: SignedForm?, _ otherKeys: [OtherKey], _ earlier: [SignedForm], _ mayTry: () -> Bool
    ) -> SignatureProblem {
        if text.readings.isEmpty { return text.problem }
        if let remembered, let problem = problem(comparedWith: remembered, otherKeys) { return problem }
        guard mayTry() else {
            return SignatureProblem(
                .undetermined,
                "The signature does not match the request. The difference was not searched: there were more wrong "
                    + "signatures than \(DiagnosisBudgets.limitOfKey) a second for this key, or "
                    + "\(DiagnosisBudgets.limit) in total.",
                expected: right.message, received: "a signature of another message",
                remedy: "Send the request again by itself.", isCertain: false)
        }
        let keys = otherKeys.enumerated().map { index, other in
            SignatureVariation(
                part: .key, text: other.key.keyID, what: "the key '\(other.key.name)', \(other.key.keyID)",
                remedy: "Send the ID of the key that signs, or sign with the key whose ID is sent.",
                isCommon: index < 3)
        }
        let cheap =
            SignatureVariations.targets(insteadOf: right[.target], known: knownTargets, origin: request.origin)
            + SignatureVariations.bodies(insteadOf: request.body, hash: right[.bodyHash])
            + SignatureVariations.parts(of: earlier, insteadOf: right)
            + SignatureVariations.layouts + SignatureVariations.digests + keys
            + SignatureVariations.dates(insteadOf: right[.date])
        var work = BodyWork()
        var trials = SignatureTrials(
            right: right, readings: text.readings,
            keys: Dictionary(otherKeys.map { ($0.key.keyID, $0.publicKey) }) { first, _ in first }
                .merging([key.keyID: publicKey]) { $1 })
        // Other bodies are computed only if nothing cheaper explains the signature.
        let found = trials.find(cheap: cheap) {
            SignatureVariations.rewrittenBodies(insteadOf: request.body, &work)
        }
        return found.map(problem) ?? problem(afterTrying: trials.count, wereAll: !trials.wasCut && !work.wasCut)
    }

    // MARK: A signature that was accepted before

    private func problem(comparedWith form: SignedForm, _ otherKeys: [OtherKey]) -> SignatureProblem? {
        let parts: [SignedForm.Part] = [.key, .date, .bodyHash, .target]
        var differing = parts.filter { form[$0] != right[$0] }
        if request.body.isEmpty, form[.bodyHash].isEmpty { differing.removeAll { $0 == .bodyHash } }
        let other = otherKeys.first { $0.key.keyID == form[.key] }
        guard !differing.isEmpty, other != nil || !differing.contains(.key) else { return nil }
        let variations = differing.map { part in
            let what =
                switch part {
                case .bodyHash: "the hash of another body"
                case .key: "the key '\(other?.key.name ?? "")', \(form[.key])"
                default: "the \(part.words.name) \(form[part])"
                }
            return SignatureVariation(
                part: part, text: form[part], what: what,
                remedy: "Create a new signature for each request, after its body and path are final.")
        }
        let found = SignatureTrials.Found(form: right.changed(by: variations), variations: variations)
        let rest = differing.count == 1 ? "Everything else matches: the" : "The"
        return problem(found).adding("\(rest) same signature was accepted before, for a request with that.")
    }

    // MARK: A trial that verified

    private func problem(_ found: SignatureTrials.Found) -> SignatureProblem {
        var sentences = found.variations.map { $0.part.words.sentence($0.what) }
        var remedies: [String] = []
        for remedy in found.variations.map(\.remedy) where !remedies.contains(remedy) { remedies.append(remedy) }
        var kinds = found.variations.map(\.part.words.kind)
        var parts = parts(of: found.form, what: found.variations.first { $0.part == .digest }?.what)
        if let form = found.writtenDown, let signature = found.signature {
            let start = sentences.isEmpty ? "The signature is correct, but" : "Also, the signature:"
            sentences.append("\(start) it is written \(form).")
            remedies.append("Send the signature as ASN.1 DER in base64, on one line: \(SignatureText.command).")
            kinds.append(.form)
            parts.append(
                SignedPart("signature", expected: SignatureText.text(of: signature), received: request.signature))
        }
        var (expected, received) = (right.message, found.form.message)
        if kinds.count == 1, let last = parts.last, ["signature", "key", "signed"].contains(last.name) {
            received = last.received ?? received
            if last.name != "signed" { expected = last.expected }
        }
        return SignatureProblem(
            kinds.count == 1 ? kinds[0] : .several, sentences.joined(separator: " "), expected: expected,
            received: received, remedy: remedies.joined(separator: " "), parts: parts)
    }

    /// The parts of the message, and what else differs.
    /// - Parameter what: what was signed in place of the message.
    private func parts(of form: SignedForm, what: String? = nil) -> [SignedPart] {
        SignedForm.Part.allCases.compactMap { part in
            if part.rawValue > SignedForm.Part.target.rawValue, form[part] == right[part] { return nil }
            let isNoBody = part == .bodyHash && form[part].isEmpty && request.body.isEmpty
            let (expected, received) =
                switch part {
                case .layout: (right.message, form.message)
                case .digest: (right[part], what ?? form[part])
                default: (right[part], isNoBody ? right[part] : form[part])
                }
            return SignedPart(part.words.name, expected: expected, received: received)
        }
    }

    // MARK: Unknown mistakes

    private func problem(afterTrying count: Int, wereAll: Bool) -> SignatureProblem {
        let tried =
            "None of \(count) known mistakes explains the signature"
            + (wereAll ? ", so the path, date and form are probably correct" : "; not all of them were tried")
        let (isEmpty, wasUsed) = (request.body.isEmpty, key.lastUsed != nil)
        let kind: SignatureProblem.Kind = wasUsed ? (isEmpty ? .target : .body) : .key
        let guess =
            switch kind {
            case .target:
                "Most likely the target differs, because signatures of this key were accepted before; or another "
                    + "private key signed it."
            case .body:
                "Most likely the body hash differs, because signatures of this key were accepted before: the body "
                    + "changed after hashing. Or another private key signed it."
            case _ where isEmpty:
                "Most likely another private key signed it, not the registered one; or the target differs."
            default: "The body hash differs, or another private key than the registered one signed it."
            }
        let remedy =
            isEmpty
            ? "Compare the message that your client signs with the expected one, character by character."
            : "Hash the final bytes of the body: their hash is \(right[.bodyHash])."
        return SignatureProblem(
            kind, "\(tried). \(guess)", expected: right.message, received: "a signature that is not of this message",
            remedy:
                "\(remedy) Does 'openssl ec -in eckey.pem -pubout' print the registered key? Then sign the expected "
                + "message by hand to see: printf '%s' 'MESSAGE' | \(SignatureText.command)",
            isCertain: false,
            parts: parts(of: right).enumerated().map { index, part in
                let isGuess = SignedForm.Part(rawValue: index)?.words.kind == kind
                return SignedPart(
                    name: part.name, expected: part.expected, received: nil, state: isGuess ? .differs : .unknown)
            })
    }
}

extension SignedPart {
    fileprivate init(_ name: String, expected: String, received: String) {
        self.init(
            name: name, expected: expected, received: received, state: expected == received ? .matches : .differs)
    }
}

// MARK: - Trials

/// Searches for a mistake that explains a signature, with a limited number of verifications.
private struct SignatureTrials {
    struct Found {
        let form: SignedForm
        let variations: [SignatureVariation]
        /// Description of an incorrect encoding of the signature; `nil` if it is correct.
        var writtenDown: String?
        var signature: P256.Signing.ECDSASignature?
    }

    let right: SignedForm
    let readings: [SignatureText.Reading]
    let keys: [String: P256.Signing.PublicKey]
    /// Number of verifications so far.
    private(set) var count = 0
    /// True if the limit was reached before everything was tried.
    private(set) var wasCut = false

    /// The first combination that verifies: common mistakes before rare ones, one before two, and the likeliest
    /// interpretation of the signature first.
    /// - Parameter more: returns more expensive variations. Called only if none of the others verifies.
    mutating func find(cheap: [SignatureVariation], more: () -> [SignatureVariation]) -> Found? {
        for reading in readings {
            if reading.form != nil, let found = first(of: [[]], reading) { return found }
            if let found = first(of: cheap.filter(\.isCommon).map { [$0] }, reading) { return found }
        }
        let more = more()
        let common = (cheap + more).filter(\.isCommon)
        let rare = (cheap + more).filter { !$0.isCommon }.map { [$0] }
        for (index, reading) in readings.enumerated() {
            let variations = more.filter(\.isCommon).map { [$0] } + (index == 0 ? rare : [])
            if let found = first(of: variations, reading) { return found }
        }
        let pairs = common.enumerated().flatMap { index, first in
            common[(index + 1)...].filter { $0.part != first.part }.map { [first, $0] }
        }
        for (index, reading) in readings.enumerated() {
            if let found = first(of: pairs + (index == 0 ? [] : rare), reading) { return found }
        }
        return nil
    }

    private mutating func first(
        of combinations: [[SignatureVariation]], _ reading: SignatureText.Reading
    ) -> Found? {
        for variations in combinations {
            guard count < SignatureDiagnosis.limit else {
                wasCut = true
                return nil
            }
            count += 1
            let form = right.changed(by: variations)
            guard form.isSigned(reading.signature, by: keys) else { continue }
            return Found(form: form, variations: variations, writtenDown: reading.form, signature: reading.signature)
        }
        return nil
    }
}
