import { Who } from '../../who.jsx';

export default function Page() {
  return <Who title="Protected" />;
}
