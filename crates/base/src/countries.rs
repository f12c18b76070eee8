//! Countries by their ISO 3166-1 alpha-2 codes, and which of them a phone number belongs to.

/// How numbers of a country begin in E.164, without the `+`. The longest beginning that fits a number decides, so that
/// one country may hold a part of what another has: the plans of +1, +7 and +44 are shared.
const PREFIXES: &str = "AC 247,AD 376,AE 971,AF 93,AG 1268,AI 1264,AL 355,AM 374,AO 244,AR 54,AS 1684,AT 43,AU 61,AW 297,\
    AX 35818,AZ 994,BA 387,BB 1246,BD 880,BE 32,BF 226,BG 359,BH 973,BI 257,BJ 229,BM 1441,BN 673,BO 591,BQ 5993 5994 \
    5997,BR 55,BS 1242,BT 975,BW 267,BY 375,BZ 501,CA 1204 1226 1236 1249 1250 1257 1263 1289 1306 1343 1354 1365 1367 \
    1368 1382 1387 1403 1416 1418 1428 1431 1437 1438 1450 1460 1468 1474 1506 1514 1519 1537 1548 1568 1579 1581 1584 \
    1587 1600 1604 1613 1622 1639 1647 1672 1683 1705 1709 1742 1753 1778 1780 1782 1807 1819 1825 1851 1867 1873 1879 \
    1902 1905 1942,CC 6189162,CD 243,CF 236,CG 242,CH 41,CI 225,CK 682,CL 56,CM 237,CN 86,CO 57,CR 506,CU 53,CV 238,\
    CW 599,CX 6189164,CY 357,CZ 420,DE 49,DJ 253,DK 45,DM 1767,DO 1809 1829 1849,DZ 213,EC 593,EE 372,EG 20,EH 2125288 \
    2125289,ER 291,ES 34,ET 251,FI 358,FJ 679,FK 500,FM 691,FO 298,FR 33,GA 241,GB 44,GD 1473,GE 995,GF 594,GG 441481 \
    447781 447839 447911,GH 233,GI 350,GL 299,GM 220,GN 224,GP 590,GQ 240,GR 30,GT 502,GU 1671,GW 245,GY 592,HK 852,\
    HN 504,HR 385,HT 509,HU 36,ID 62,IE 353,IL 972,IM 441624 447524 447624 447924,IN 91,IO 246,IQ 964,IR 98,IS 354,\
    IT 39,JE 441534 447509 447797 447829 447937,JM 1658 1876,JO 962,JP 81,KE 254,KG 996,KH 855,KI 686,KM 269,KN 1869,\
    KP 850,KR 82,KW 965,KY 1345,KZ 76 77,LA 856,LB 961,LC 1758,LI 423,LK 94,LR 231,LS 266,LT 370,LU 352,LV 371,LY 218,\
    MA 212,MC 377,MD 373,ME 382,MG 261,MH 692,MK 389,ML 223,MM 95,MN 976,MO 853,MP 1670,MQ 596,MR 222,MS 1664,MT 356,\
    MU 230,MV 960,MW 265,MX 52,MY 60,MZ 258,NA 264,NC 687,NE 227,NF 6723,NG 234,NI 505,NL 31,NO 47,NP 977,NR 674,NU 683,\
    NZ 64,OM 968,PA 507,PE 51,PF 689,PG 675,PH 63,PK 92,PL 48,PM 508,PR 1787 1939,PS 970,PT 351,PW 680,PY 595,QA 974,\
    RE 262,RO 40,RS 381,RU 7,RW 250,SA 966,SB 677,SC 248,SD 249,SE 46,SG 65,SH 290,SI 386,SJ 4779,SK 421,SL 232,SM 378,\
    SN 221,SO 252,SR 597,SS 211,ST 239,SV 503,SX 1721,SY 963,SZ 268,TA 2908,TC 1649,TD 235,TG 228,TH 66,TJ 992,TK 690,\
    TL 670,TM 993,TN 216,TO 676,TR 90,TT 1868,TV 688,TW 886,TZ 255,UA 380,UG 256,US 1,UY 598,UZ 998,VA 3906698,VC 1784,\
    VE 58,VG 1284,VI 1340,VN 84,VU 678,WF 681,WS 685,XK 383,YE 967,YT 262269 262639,ZA 27,ZM 260,ZW 263";

/// Every country with its beginnings.
fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
    PREFIXES.split(',').filter_map(|entry| entry.trim_start().split_once(' '))
}

/// Whether numbers of a country are known by its code, which is in capitals.
pub fn is_known(code: &str) -> bool {
    all().any(|(country, _)| country == code)
}

/// The country of a phone number in E.164, if its beginning is that of one.
pub fn of_phone(number: &str) -> Option<&'static str> {
    let digits = number.strip_prefix('+')?;
    let fitting = all().flat_map(|(country, prefixes)| {
        prefixes
            .split_whitespace()
            .filter(|prefix| digits.starts_with(prefix))
            .map(move |it| (it.len(), country))
    });
    fitting.max_by_key(|(length, _)| *length).map(|(_, country)| country)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_longest_beginning_decides() {
        for (number, country) in [
            ("+14155550100", Some("US")),
            ("+14165550100", Some("CA")),
            ("+18765550100", Some("JM")),
            ("+18095550100", Some("DO")),
            ("+442071838750", Some("GB")),
            ("+447700900123", Some("GB")),
            ("+441534123456", Some("JE")),
            ("+79161234567", Some("RU")),
            ("+77011234567", Some("KZ")),
            ("+390669812345", Some("VA")),
            ("+390612345678", Some("IT")),
            ("+4915112345678", Some("DE")),
            ("+35318123456", Some("IE")),
            ("+59991234567", Some("CW")),
            ("+262639123456", Some("YT")),
            ("+9991234567", None),
            ("14155550100", None),
            ("", None),
        ] {
            assert_eq!(of_phone(number), country, "{number}");
        }
    }

    #[test]
    fn every_country_stands_there_once_and_shares_no_beginning() {
        let codes: Vec<&str> = all().map(|(code, _)| code).collect();
        assert_eq!(codes.iter().collect::<BTreeSet<_>>().len(), codes.len());
        assert!(
            codes.iter().all(|code| code.len() == 2 && code.bytes().all(|byte| byte.is_ascii_uppercase()))
        );
        let prefixes: Vec<&str> = all().flat_map(|(_, prefixes)| prefixes.split_whitespace()).collect();
        assert_eq!(prefixes.iter().collect::<BTreeSet<_>>().len(), prefixes.len());
        assert!(prefixes.iter().all(|prefix| prefix.bytes().all(|byte| byte.is_ascii_digit())));
        assert!(is_known("DE") && is_known("US") && !is_known("XX") && !is_known("de") && !is_known(""));
    }
}
