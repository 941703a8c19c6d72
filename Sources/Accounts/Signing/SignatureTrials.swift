internal import Crypto

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
        _ right: SignedForm, of readings: [SignatureText.Reading], publicKey: P256.Signing.PublicKey, otherKeys: [P256.Signing.PublicKey], limit: Int
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
    /// True if both variations change the same part and can't be combined.
    fileprivate func isSameThing(as other: SignatureVariation) -> Bool {
        switch (change, other.change) {
        case (.date, .date), (.bodyHash, .bodyHash), (.target, .target), (.layout, .layout), (.digest, .digest), (.key, .key): true
        default: false
        }
    }
}
