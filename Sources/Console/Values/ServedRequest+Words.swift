internal import Records
package import Traffic

extension ServedRequest {
    /// The colour of the status.
    package var tone: String { status >= 400 || status == 0 ? "bad" : itemErrors.isEmpty && !isBrokenOff ? "good" : "warn" }

    /// The status, or a note that there was no answer.
    package var statusWords: String { status == 0 ? "no response" : isBrokenOff ? "\(status), incomplete" : String(status) }

    /// `CONFLICT`, `2 items CONFLICT`, `3 items failed`; `nil` if nothing failed.
    package var errorWords: String? {
        if let error { return error.code.rawValue }
        guard let first = itemErrors.first else { return nil }
        let isOne = itemErrors.allSatisfy { $0.code == first.code }
        return "\(Digits.count(itemErrors.count, "item")) \(isOne ? first.code.rawValue : "failed")"
    }
}
