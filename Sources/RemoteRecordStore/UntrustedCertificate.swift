/// The identity of an https server could not be verified.
public struct UntrustedCertificate: Error {
    /// The message of the TLS library.
    public let reason: String
}
