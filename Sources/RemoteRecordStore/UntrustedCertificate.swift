/// A server that is reached by https could not prove that it is the one that was meant.
public struct UntrustedCertificate: Error {
    /// In the words of the TLS library.
    public let reason: String
}
