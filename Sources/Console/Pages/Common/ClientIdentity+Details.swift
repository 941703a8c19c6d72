package import Traffic

extension ClientIdentity {
    /// Details of the client beyond its label.
    package var details: String? {
        userAgent.flatMap { label.utf8.elementsEqual($0.utf8) ? nil : $0 }
    }
}
