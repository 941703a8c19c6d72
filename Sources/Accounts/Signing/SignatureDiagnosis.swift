internal import Crypto
internal import Foundation
internal import Records

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

    let request: SignedRequest
    let key: ServerKey
    private let publicKey: P256.Signing.PublicKey
    private let knownTargets: [String]
    private let now: Date
    private let text: SignatureText
    /// The form that should have been signed.
    let right: SignedForm
    /// The body hash that was signed; `nil` if the signature is invalid.
    let signedBodyHash: String?

    init(
        _ request: SignedRequest, of key: ServerKey, _ publicKey: P256.Signing.PublicKey, knownTargets: [String],
        now: Date
    ) {
        self.request = request
        self.key = key
        self.publicKey = publicKey
        self.knownTargets = knownTargets
        self.now = now
        text = SignatureText(request.signature)
        let right = SignedForm(
            date: request.date, bodyHash: RequestSignature.bodyHash(request.body), target: request.target)
        self.right = right
        signedBodyHash = text.signature.flatMap { signature in
            // For a request without a body, clients sign the hash of zero bytes or an empty string. CloudKit accepts
            // both.
            ([right.bodyHash] + (request.body.isEmpty ? [""] : [])).first { hash in
                right.changed(by: .bodyHash(hash)).isSigned(signature, by: publicKey)
            }
        }
    }

    /// The signature, if it is encoded correctly.
    var signature: P256.Signing.ECDSASignature? { text.signature }

    /// The problem with the date, whether or not the signature is valid.
    private var problemOfDate: SignatureProblem? { DateDiagnosis(request.date, now: now).problem }

    /// The problem if only the date is wrong; `nil` if the date is correct.
    var problemOfDateAlone: SignatureProblem? {
        guard let problem = problemOfDate?.adding("The signature itself is correct.") else { return nil }
        let others = [("body hash", right.bodyHash), ("target", right.target)].map { name, text in
            SignedPart(name: name, expected: text, received: text, state: .matches)
        }
        let date = SignedPart(
            name: "date", expected: problem.expected, received: request.date, state: .differs)
        return problem.with(parts: [date] + others)
    }

    /// The problem of an invalid signature.
    /// - Parameters:
    /// - remembered: the message for which the same signature was accepted before.
    /// - otherKeys: other keys that may have made the signature.
    /// - earlier: messages of the key accepted recently.
    /// - mayTry: returns `true` if trials, which take some milliseconds, are allowed. Called only if they are needed.
    func problem(
        remembered: SignatureMemory.Message?, otherKeys: [OtherKey], earlier: [SignatureMemory.Message],
        mayTry: () -> Bool
    ) -> SignatureProblem {
        let problem = signatureProblem(remembered, otherKeys, earlier, mayTry)
        guard let date = problemOfDate else { return problem }
        // A rejected date is certain, whereas other problems may be guesses.
        return problem.isCertain
            ? problem.adding("Also: \(date.sentence)") : date.adding("The signature also matches no expected message.")
    }

    private func signatureProblem(
        _ remembered: SignatureMemory.Message?, _ otherKeys: [OtherKey], _ earlier: [SignatureMemory.Message],
        _ mayTry: () -> Bool
    ) -> SignatureProblem {
        if text.readings.isEmpty { return text.problem }
        if let remembered, let problem = problem(comparedWith: remembered, otherKeys) { return problem }
        guard mayTry() else {
            return SignatureProblem(
                .undetermined,
                "The signature does not match the request. The difference was not searched: there were more wrong signatures than \(Int(DiagnosisBudgets.limitOfKey)) a "
                    + "second for this key, or \(Int(DiagnosisBudgets.limit)) in total.",
                expected: right.message, received: "a signature of another message",
                remedy: "Send the request again by itself.", isCertain: false)
        }
        var trials = SignatureTrials(
            right, of: text.readings, publicKey: publicKey, otherKeys: otherKeys.map(\.publicKey), limit: Self.limit)
        var work = BodyWork()
        // Other bodies are computed only if nothing cheaper explains the signature.
        let found = trials.find(cheap: variations(otherKeys, earlier)) {
            SignatureVariation.rewrittenBodies(insteadOf: request.body, &work)
        }
        if let found { return problem(found, otherKeys) }
        return problem(afterTrying: trials.count, wereAll: !trials.wasCut && !work.wasCut)
    }

    private func variations(_ otherKeys: [OtherKey], _ earlier: [SignatureMemory.Message]) -> [SignatureVariation] {
        let keys = otherKeys.enumerated().map { index, other in
            SignatureVariation(
                change: .key(index), what: "the key '\(other.key.name)', \(other.key.keyID)",
                remedy: "Send the ID of the key that signs, or sign with the key whose ID is sent.", isCommon: index < 3
            )
        }
        return SignatureVariation.targets(insteadOf: request.target, known: knownTargets, origin: request.origin)
            + SignatureVariation.bodies(insteadOf: request.body, hash: right.bodyHash)
            + SignatureVariation.parts(of: earlier, insteadOf: right)
            + SignatureVariation.layouts + SignatureVariation.digests + keys
            + SignatureVariation.dates(insteadOf: request.date)
    }

    // MARK: A signature that was accepted before

    private func problem(comparedWith message: SignatureMemory.Message, _ otherKeys: [OtherKey]) -> SignatureProblem? {
        let again = "Create a new signature for each request, after its body and path are final."
        var differences: [SignatureVariation] = []
        if message.keyID != key.keyID {
            let index = otherKeys.firstIndex { $0.key.keyID == message.keyID }
            guard let index else { return nil }
            differences.append(
                SignatureVariation(
                    change: .key(index), what: "the key '\(otherKeys[index].key.name)', \(message.keyID)", remedy: again
                ))
        }
        if message.date != right.date {
            differences.append(
                SignatureVariation(change: .date(message.date), what: "the date \(message.date)", remedy: again))
        }
        let isEmptyBody = request.body.isEmpty && message.bodyHash.isEmpty
        if message.bodyHash != right.bodyHash, !isEmptyBody {
            differences.append(
                SignatureVariation(change: .bodyHash(message.bodyHash), what: "the hash of another body", remedy: again)
            )
        }
        if message.target != right.target {
            differences.append(
                SignatureVariation(change: .target(message.target), what: "the target \(message.target)", remedy: again)
            )
        }
        guard !differences.isEmpty else { return nil }
        let form = differences.reduce(right) { $0.changed(by: $1.change) }
        let found = SignatureTrials.Found(form: form, variations: differences, writtenDown: nil)
        let rest = differences.count == 1 ? "Everything else matches: the" : "The"
        return problem(found, otherKeys).adding("\(rest) same signature was accepted before, for a request with that.")
    }

    // MARK: A trial that verified

    private func problem(_ found: SignatureTrials.Found, _ otherKeys: [OtherKey]) -> SignatureProblem {
        var sentences = found.variations.map(Self.sentence)
        var remedies = found.variations.map(\.remedy)
        var kinds = found.variations.map(\.change.kind)
        if let form = found.writtenDown {
            let written = "it is written \(form)"
            sentences.append(
                sentences.isEmpty ? "The signature is correct, but \(written)." : "Also, the signature: \(written).")
            remedies.append(
                "Send the signature as ASN.1 DER in base64, on one line: openssl dgst -sha256 -sign eckey.pem | base64 -w0."
            )
            kinds.append(.form)
        }
        let kind = kinds.count == 1 ? kinds[0] : .several
        var (expected, received) = (right.message, found.form.message)
        switch (kind, found.variations.first?.change) {
        case (.form, nil):
            expected = found.signature.map(SignatureText.text) ?? expected
            received = request.signature
        case (.form, .digest): received = found.variations[0].what
        case (.key, .key(let index)):
            expected = key.keyID
            received = otherKeys[index].key.keyID
        default: break
        }
        return SignatureProblem(
            kind, sentences.joined(separator: " "), expected: expected, received: received,
            remedy: Self.unique(remedies).joined(separator: " "),
            parts: parts(found, otherKeys))
    }

    private static func sentence(_ variation: SignatureVariation) -> String {
        switch variation.change {
        case .date: "The date differs: \(variation.what) was signed, and the header has another."
        case .bodyHash: "The body hash differs: \(variation.what) was signed."
        case .target: "The target differs: \(variation.what) was signed."
        case .layout: "The parts are correct, but the message is assembled differently: \(variation.what)."
        case .digest: "The message is correct, but \(variation.what)."
        case .key: "Another key signed the request: \(variation.what)."
        }
    }

    private static func unique(_ texts: [String]) -> [String] {
        texts.enumerated().filter { index, text in !texts[..<index].contains(text) }.map(\.element)
    }

    private func parts(_ found: SignatureTrials.Found, _ otherKeys: [OtherKey]) -> [SignedPart] {
        func part(_ name: String, _ expected: String, _ received: String) -> SignedPart {
            SignedPart(
                name: name, expected: expected, received: received, state: expected == received ? .matches : .differs)
        }
        var parts = [
            part("date", right.date, found.form.date),
            part(
                "body hash", right.bodyHash,
                found.form.bodyHash.isEmpty && request.body.isEmpty ? right.bodyHash : found.form.bodyHash),
            part("target", right.target, found.form.target),
        ]
        for variation in found.variations {
            switch variation.change {
            case .layout: parts.append(part("message", right.message, found.form.message))
            case .digest: parts.append(part("signed", "SHA-256 of the message", variation.what))
            case .key(let index): parts.append(part("key", key.keyID, otherKeys[index].key.keyID))
            case .date, .bodyHash, .target: break
            }
        }
        if found.writtenDown != nil, let signature = found.signature {
            parts.append(part("signature", SignatureText.text(of: signature), request.signature))
        }
        return parts
    }

    // MARK: Unknown mistakes

    private func problem(afterTrying count: Int, wereAll: Bool) -> SignatureProblem {
        let tried =
            "None of \(count) known mistakes explains the signature"
            + (wereAll ? ", so the path, date and form are probably correct" : "; not all of them were tried")
        let command = "printf '%s' 'MESSAGE' | openssl dgst -sha256 -sign eckey.pem | base64 -w0"
        let (kind, sentence, remedy): (SignatureProblem.Kind, String, String)
        let wasUsed = key.lastUsed != nil
        if request.body.isEmpty {
            kind = wasUsed ? .target : .key
            sentence =
                "\(tried). "
                + (wasUsed
                    ? "Most likely the target differs, because signatures of this key were accepted before; or another private key signed it."
                    : "Most likely another private key signed it, not the registered one; or the target differs.")
            remedy =
                "Compare the message that your client signs with the expected one, character by character. Does "
                + "'openssl ec -in eckey.pem -pubout' print the "
        } else {
            kind = wasUsed ? .body : .key
            sentence =
                "\(tried). "
                + (wasUsed
                    ? "Most likely the body hash differs, because signatures of this key were accepted before: the body changed after hashing. Or another "
                        + "private key signed it."
                    : "The body hash differs, or another private key than the registered one signed it.")
            remedy =
                "Hash the final bytes of the body: their hash is \(right.bodyHash). Does "
                + "'openssl ec -in eckey.pem -pubout' print the "
        }
        let state: (SignatureProblem.Kind) -> SignedPart.State = { $0 == kind ? .differs : .unknown }
        return SignatureProblem(
            kind, sentence, expected: right.message, received: "a signature that is not of this message",
            remedy: "\(remedy)registered key? Then sign the expected message by hand to see: \(command)",
            isCertain: false,
            parts: [
                .init(name: "date", expected: right.date, received: nil, state: .unknown),
                .init(name: "body hash", expected: right.bodyHash, received: nil, state: state(.body)),
                .init(name: "target", expected: right.target, received: nil, state: state(.target)),
            ])
    }
}

extension SignatureProblem {
    fileprivate func with(parts: [SignedPart]) -> SignatureProblem {
        SignatureProblem(
            kind, sentence, expected: expected, received: received, remedy: remedy, isCertain: isCertain, parts: parts)
    }

    /// The problem with an additional sentence.
    fileprivate func adding(_ more: String) -> SignatureProblem {
        SignatureProblem(
            kind, "\(sentence) \(more)", expected: expected, received: received, remedy: remedy, isCertain: isCertain,
            parts: parts)
    }
}

// MARK: - Trials

/// Searches for a mistake that explains a signature, with a limited number of verifications.
struct SignatureTrials {
    struct Found {
        let form: SignedForm
        let variations: [SignatureVariation]
        /// Description of an incorrect encoding of the signature; `nil` if it is correct.
        let writtenDown: String?
        var signature: P256.Signing.ECDSASignature?
    }

    private let right: SignedForm
    private let readings: [SignatureText.Reading]
    private let publicKey: P256.Signing.PublicKey
    private let otherKeys: [P256.Signing.PublicKey]
    private let limit: Int
    /// Number of verifications so far.
    private(set) var count = 0
    /// True if the limit was reached before everything was tried.
    private(set) var wasCut = false

    init(
        _ right: SignedForm, of readings: [SignatureText.Reading], publicKey: P256.Signing.PublicKey,
        otherKeys: [P256.Signing.PublicKey], limit: Int
    ) {
        self.right = right
        self.readings = readings
        self.publicKey = publicKey
        self.otherKeys = otherKeys
        self.limit = limit
    }

    /// The first combination that verifies: common mistakes before rare ones, one before two, and the likeliest
    /// interpretation of the signature first.
    /// - Parameter more: returns more expensive variations. Called only if none of the others verifies.
    mutating func find(cheap: [SignatureVariation], more: () -> [SignatureVariation]) -> Found? {
        for reading in readings {
            if reading.form != nil, let found = attempt([], reading) { return found }
            if let found = findOne(of: cheap.filter(\.isCommon), reading) { return found }
        }
        let more = more()
        let variations = cheap + more
        for (index, reading) in readings.enumerated() {
            if let found = findOne(of: more.filter(\.isCommon), reading) { return found }
            if index == 0, let found = findOne(of: variations.filter { !$0.isCommon }, reading) { return found }
        }
        for (index, reading) in readings.enumerated() {
            if let found = findTwo(of: variations.filter(\.isCommon), reading) { return found }
            if index > 0, let found = findOne(of: variations.filter { !$0.isCommon }, reading) { return found }
        }
        return nil
    }

    private mutating func findOne(of variations: [SignatureVariation], _ reading: SignatureText.Reading) -> Found? {
        for variation in variations {
            if let found = attempt([variation], reading) { return found }
        }
        return nil
    }

    private mutating func findTwo(of variations: [SignatureVariation], _ reading: SignatureText.Reading) -> Found? {
        for (index, first) in variations.enumerated() {
            for second in variations[(index + 1)...] where !first.isSameThing(as: second) {
                if let found = attempt([first, second], reading) { return found }
            }
        }
        return nil
    }

    private mutating func attempt(_ variations: [SignatureVariation], _ reading: SignatureText.Reading) -> Found? {
        guard count < limit else {
            wasCut = true
            return nil
        }
        count += 1
        let form = variations.reduce(right) { $0.changed(by: $1.change) }
        guard form.isSigned(reading.signature, by: form.key.map { otherKeys[$0] } ?? publicKey) else { return nil }
        return Found(form: form, variations: variations, writtenDown: reading.form, signature: reading.signature)
    }
}

extension SignatureVariation {
    /// True if both variations change the same part, so that they can't be combined.
    fileprivate func isSameThing(as other: SignatureVariation) -> Bool {
        switch (change, other.change) {
        case (.date, .date), (.bodyHash, .bodyHash), (.target, .target), (.layout, .layout), (.digest, .digest),
            (.key, .key):
            true
        default: false
        }
    }
}
