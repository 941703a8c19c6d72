internal import Foundation
internal import NIOCore

extension TrustedSites {
    /// The host names of a server that listens on an address.
    ///
    /// For a wildcard address (`0.0.0.0`, `::`) they are the machine's addresses and host names. An IP address in
    /// `Host` cannot be DNS rebinding, because no foreign page has it as its name. Loopback names are always included.
    /// - Parameters:
    ///   - hostname: the address that the server listens on.
    ///   - hosts: further names, as for ``init(hosts:origins:)``.
    ///   - addresses: the addresses of this machine; `nil` to ask the system.
    ///   - machineName: the host name of this machine; `nil` to ask the system.
    public init(
        listeningOn hostname: String, hosts: [String] = [], origins: [String] = [], addresses: [String]? = nil, machineName: String? = nil
    ) {
        var names = hosts
        if Self.isWildcard(hostname) {
            names += (addresses ?? Self.machineAddresses()).map(Self.asHost)
            let machineName = machineName ?? ProcessInfo.processInfo.hostName
            let name = machineName.split(separator: ".").first.map(String.init) ?? machineName
            names += [machineName, name, "\(name).local"]
        } else {
            names.append(Self.asHost(hostname))
        }
        self.init(hosts: names, origins: origins)
    }

    /// True if the address means all addresses of the machine.
    public static func isWildcard(_ hostname: String) -> Bool {
        ["0.0.0.0", "::", "[::]"].contains(hostname)
    }

    /// An address or a name in the form of a `Host` header: IPv6 in brackets, without an interface name.
    public static func asHost(_ address: String) -> String {
        guard address.contains(":"), !address.hasPrefix("[") else { return address }
        return "[\(address.prefix { $0 != "%" })]"
    }

    /// The addresses of this machine's interfaces.
    public static func machineAddresses() -> [String] {
        // Without the list, the server only answers to the names that it was given.
        ((try? System.enumerateDevices()) ?? []).compactMap { $0.address?.ipAddress }
    }
}
